"""Train a classifier of handwritten digits. Runs on PyTorch too, with the same numbers: change the import line."""

import sys
from pathlib import Path

import numpy as np

import livetape as torch

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
torch.manual_seed(seed)

# 1,797 images of 8x8 pixels with values 0 to 16; every fifth one is kept for the test.
data = np.load(Path(__file__).parent.parent / "src" / "livetape" / "data" / "digits.npz")
images = torch.from_numpy(data["images"]).view(-1, 64).float() / 16
labels = torch.from_numpy(data["labels"]).long()
test = torch.arange(len(labels)) % 5 == 0
train_images, train_labels = images[~test], labels[~test]

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(1, 21):
    total = 0.0
    for batch in torch.randperm(len(train_images)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(train_images[batch]), train_labels[batch])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    with torch.no_grad():
        accuracy = (model(images[test]).argmax(dim=1) == labels[test]).float().mean().item()
    print(f"epoch {epoch:2}/20  loss {total / len(train_images):.4f}  accuracy {100 * accuracy:5.2f} %")
