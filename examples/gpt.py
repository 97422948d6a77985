"""A small GPT that learns to write, letter by letter, from the first volume of Jane Austen's Northanger Abbey."""

import math
import time

from common import DATA, options, track

import livetape as torch

nn = torch.nn
F = torch.nn.functional
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)

context, width, heads, depth, dropout = 64, 96, 4, 3, 0.1
steps, batch_size, warmup, peak_lr = 1000, 32, 100, 3e-3
if args.quick:
    context, width, depth, steps, batch_size, warmup = 32, 32, 1, 40, 8, 5

text = (DATA / "northanger_abbey.txt").read_text()
letters = sorted(set(text))
code = {letter: i for i, letter in enumerate(letters)}
tokens = torch.tensor([code[letter] for letter in text])
split = int(0.9 * len(tokens))
train, valid = tokens[:split], tokens[split:]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, time, _ = x.shape
        q, k, v = (part.view(batch, time, heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(len(letters), width)
        self.position = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(letters), bias=False)
        self.head.weight = self.token.weight
        self.apply(self.initialize)

    def initialize(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(self.dropout(x))))

    @torch.no_grad()
    def write(self, start, length, temperature=0.8):
        written = torch.tensor([[code[letter] for letter in start]])
        for _ in range(length):
            logits = self(written[:, -context:])[:, -1] / temperature
            written = torch.cat([written, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
        return "".join(letters[i] for i in written[0].tolist())


model = GPT()
decayed = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=peak_lr, betas=(0.9, 0.95))


def rate(step):
    """Up in a line, then down along a cosine to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.55 + 0.45 * math.cos(math.pi * (step - warmup) / (steps - warmup))


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


@torch.no_grad()
def evaluate():
    """The loss over all that was held out, in pieces of one context."""
    model.eval()
    count = (len(valid) - 1) // context
    x = valid[: count * context].view(count, context)
    y = valid[1 : count * context + 1].view(count, context)
    total = sum(
        F.cross_entropy(model(a).flatten(0, 1), b.flatten(), reduction="sum").item()
        for a, b in zip(x.split(64), y.split(64), strict=True)
    )
    model.train()
    return total / (count * context)


print(f"{len(tokens):,} letters, {len(letters)} different; {sum(p.numel() for p in model.parameters()):,} parameters")
started = time.perf_counter()
offsets = torch.arange(context)
for step in track(range(1, steps + 1), "GPT"):
    at = torch.randint(len(train) - context, (batch_size, 1)) + offsets
    logits = model(train[at])
    loss = F.cross_entropy(logits.view(-1, len(letters)), train[at + 1].view(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step in (1, 2, 5, 10, 20, 40) or step % 100 == 0:
        print(f"step {step:4}/{steps}  loss {loss.item():.4f}")
loss = evaluate()
seconds = time.perf_counter() - started
model.eval()
print(model.write("CHAPTER ", 40 if args.quick else 500))
print(f"validation loss {loss:.4f}, {loss / math.log(2):.3f} bits a letter in {seconds:.1f} s")
