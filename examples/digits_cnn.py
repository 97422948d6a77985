"""A convolutional network that reads handwritten digits, with batch norm, dropout, a DataLoader and Adam."""

import time

import numpy as np
from common import DIGITS, options, track

import livetape as torch

nn = torch.nn
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
epochs = 2 if args.quick else 20

# 1,797 images of 8x8 pixels with values 0 to 16; every fifth one is kept for the test.
data = np.load(DIGITS)
images = torch.from_numpy(data["images"]).unsqueeze(1).float() / 16
labels = torch.from_numpy(data["labels"]).long()
held_out = torch.arange(len(labels)) % 5 == 0
train = torch.utils.data.TensorDataset(images[~held_out], labels[~held_out])
test = torch.utils.data.TensorDataset(images[held_out], labels[held_out])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 64, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


model = Net()
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
train_loader = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)
test_loader = torch.utils.data.DataLoader(test, batch_size=256)


def evaluate():
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    model.train()
    return 100 * correct / len(test)


started = time.perf_counter()
for epoch in track(range(1, epochs + 1), "digits CNN"):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    schedule.step()
    print(f"epoch {epoch:2}/{epochs}  loss {total / len(train):.4f}  accuracy {evaluate():5.2f} %")
print(f"test accuracy {evaluate():.2f} % in {time.perf_counter() - started:.1f} s")
