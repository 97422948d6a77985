"""A variational autoencoder (Kingma and Welling, 2014) that learns to draw handwritten digits."""

import time

import numpy as np
from common import DIGITS, options, track

import livetape as torch

nn = torch.nn
F = torch.nn.functional
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
epochs = 3 if args.quick else 100

data = np.load(DIGITS)
images = torch.from_numpy(data["images"]).view(-1, 64).float() / 16
held_out = torch.arange(len(images)) % 5 == 0
train, test = images[~held_out], images[held_out]


class VAE(nn.Module):
    def __init__(self, latent=8, hidden=256):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 64)
        )

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def negative_elbo(model, x):
    """An upper bound of -log p(x) in nats an image: what drawing x costs, and what z costs."""
    logits, mean, log_variance = model(x)
    drawing = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (drawing + divergence) / len(x)


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
started = time.perf_counter()
for epoch in track(range(1, epochs + 1), "VAE"):
    total = 0.0
    for batch in torch.randperm(len(train)).split(32):
        optimizer.zero_grad()
        loss = negative_elbo(model, train[batch])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    if epoch <= 3 or epoch % 10 == 0:
        with torch.no_grad():
            print(f"epoch {epoch:3}/{epochs}  loss {total / len(train):.4f}  test {negative_elbo(model, test):.4f}")
with torch.no_grad():
    bound = torch.stack([negative_elbo(model, test) for _ in range(10)]).mean().item()
    seconds = time.perf_counter() - started
    drawn = torch.sigmoid(model.decoder(torch.randn(4, 8))).view(4, 8, 8)
for row in (drawn * 9.99).int().transpose(0, 1).tolist():  # four drawings side by side
    print("  ".join("".join(" .:-=+*#%@"[shade] * 2 for shade in image) for image in row))
print(f"test -ELBO {bound:.3f} nats an image in {seconds:.1f} s")
