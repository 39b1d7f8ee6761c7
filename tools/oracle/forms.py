"""Exports programs of rare forms with torch 2.13, into one small zip.

    python tools/oracle/forms.py ZOO OUT.zip

ZOO is the folder with the scripts of the model zoo, in whose format the zip has a folder for each program here.
"""

import sys
from pathlib import Path

import torch
from torch import randn
from torch.export import Dim

from archives import load_zoo, pack


def rows(most=20, dim=0):
    return ({dim: Dim("n", min=2, max=most)},)


def sizes(width, *ns):
    """Arguments of several calls: a matrix of n rows each; the first is the example."""
    return lambda: [(randn(n, width),) for n in ns]


# Functions of Python on sizes, as far as torch.export.save writes them.
def sym_float(x):
    n, m = x.shape
    reals = [n**0.5, n**-0.5, n**-1, 2.0**n, 0.5**n, torch.sym_sqrt(n), n / 3, 1 / n, n % 2.5, torch.sym_float(n),
             torch.sym_max(n / 2, 2.5)]
    return sum(x * r for r in reals), torch.full((m,), n**0.25)


def sym_int(x):
    n = x.shape[0]
    whole = [n**2, n**3, n ** (n % 4), 2 ** (n - 1), n // 3, n % 3, torch.sym_int(n / 2), n & 3, n | 3, n << 2, n >> 1, -n,
             torch.sym_min(n, 4), n ** 17 % 7]
    return sum(x * w for w in whole), torch.full((2,), (x.numel() + torch.sym_max(n, 4)) ** 2)


def item_power(x):
    count = (x > 0).sum().item()
    return x * count**2, x * count**0.5


def scaled(x):
    """Sizes that are rounded products with a number that is no fraction of two."""
    image = x[None, None]
    return torch.nn.functional.interpolate(image, scale_factor=1.3, mode="bilinear"), torch.nn.functional.interpolate(image, scale_factor=1.7)


def programs(feature):
    feature("sym_float", "", sym_float, sizes(3, 6, 2, 7, 20), dynamic=rows(), tol=1e-5)
    feature("sym_int", "", sym_int, sizes(3, 6, 2, 7, 11), dynamic=rows(11), tol=1e-5)
    feature("item_power", "", item_power, sizes(3, 6, 2, 20), dynamic=rows())
    feature("scaled", "", scaled, sizes(5, 6, 2, 7, 20), dynamic=rows())


def main(folder, out):
    zoo = load_zoo(Path(folder))
    from models.features import feature

    known = set(zoo.MODELS)
    programs(feature)
    pack(zoo, [name for name in zoo.MODELS if name not in known], out)


if __name__ == "__main__":
    main(*sys.argv[1:])
