"""Writes model.pt2, in.npy and out.npy beside this file: convolutions of one tensor whose results are added."""

import pathlib

import numpy as np
import torch
from torch import nn


class Sum(nn.Module):
    """The sum of what its members give."""

    def __init__(self, *members):
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x):
        y = 0
        for m in self.members:
            y = y + m(x)
        return y


def conv(channels, size, stride=1, groups=1, bias=False, kind=nn.Conv2d, norm=nn.BatchNorm2d, dilation=1):
    pad = size // 2 * dilation
    return nn.Sequential(kind(channels, channels, size, stride, pad, dilation, groups, bias), norm(channels))


class Scaled(nn.Module):
    """The input, and what a member gives beyond its norm, times a number for each channel."""

    def __init__(self, member, channels):
        super().__init__()
        self.member, self.norm = member, nn.BatchNorm2d(channels)
        self.gamma = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        return x + self.gamma * (self.member(x) - self.norm(x))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        c = 4
        self.dense = Sum(conv(c, 3), conv(c, 3), conv(c, 1), nn.BatchNorm2d(c))
        self.down = nn.Sequential(Sum(conv(c, 7, 2, c), conv(c, 3, 2, c)), nn.BatchNorm2d(c))
        self.scaled = Scaled(Sum(nn.BatchNorm2d(c), conv(c, 3, groups=c), conv(c, 1, groups=c)), c)
        self.left = nn.Conv2d(c, c, (1, 3), padding=(0, 1), groups=2)
        self.right = nn.Conv2d(c, c, 1, groups=2, bias=False)
        self.line = Sum(conv(c, 3, kind=nn.Conv1d, norm=nn.BatchNorm1d, dilation=2), conv(c, 1, kind=nn.Conv1d, norm=nn.BatchNorm1d))
        self.twice = nn.Conv2d(c, c, (3, 1), padding=(1, 0))

    def forward(self, x):
        x = self.dense(x).relu()
        x = self.down(x).relu()
        x = self.scaled(x).relu()
        x = (2 * self.right(x) - 0.5 * self.left(x) + x - 0.25).relu()
        y = self.line(x.flatten(2)).relu()
        return self.twice(x) + self.twice(-x).abs(), y  # the sum of a convolution whose weights others read, too, stays


def main():
    torch.manual_seed(0)
    m = Branches().eval()
    with torch.no_grad():
        for name, p in [*m.named_parameters(), *m.named_buffers()]:
            if p.dtype.is_floating_point:
                p.copy_(torch.rand_like(p) + 0.5 if name.endswith("var") else torch.randn_like(p) * 0.5)
    x = torch.randn(2, 4, 9, 9)
    here = pathlib.Path(__file__).parent
    torch.export.save(torch.export.export(m, (x,)), here / "model.pt2")
    np.save(here / "in.npy", x.numpy())
    for i, y in enumerate(m(x)):
        np.save(here / f"out_{i}.npy", y.detach().numpy())


main()
