"""Exports programs of rare forms with torch 2.13, into one small zip.

    python tools/oracle/forms.py ZOO OUT.zip

ZOO is the folder with the scripts of the model zoo, in whose format the zip has a folder for each program here.
"""

import sys
from pathlib import Path

import torch
from torch import randn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from archives import load_zoo, pack

AUTO = Dim.AUTO


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


# Nodes of torch.vmap, and loops in loops.
def associative(x, y):
    pairs = associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, y), dim=1, combine_mode="generic")
    return pairs, associative_scan(torch.maximum, x, dim=0, reverse=True, combine_mode="generic")


def vmap(x, y):
    table = torch.vmap(torch.vmap(lambda a, b: a.dot(b), in_dims=(None, 0)), in_dims=(0, None))(x, y)
    return table, torch.vmap(lambda a: (a * y.sum(), torch.ones(2), a.argmax()))(x)


def zero():
    return torch.zeros((), dtype=torch.int64)


def loops(x):
    rows = scan(lambda s, r: (s + r.sum(), map_(lambda e: e * 2 + s, r)), torch.zeros(()), x)
    powers = map_(lambda r: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (zero(), r))[1], x)
    step = lambda x: torch.cond(x.sum() > 0, lambda x: x - 1, lambda x: x + 2, (x,))
    return rows, powers, while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, step(x)), (zero(), x))


def splits(x, at):
    rows = torch.unique_consecutive((x > 0).sum(0, keepdim=True), return_inverse=True, return_counts=True, dim=-1)
    masked = torch.masked_select(x[0], x > 0)
    back = torch.take_along_dim(x, at[None] - 3, 1), torch.diff(x, n=0, append=x)
    return masked, back, torch.tensor_split(x, at), torch.tensor_split(x, torch.tensor(4), 1), torch.where(x > 0), rows


def unknown_sizes(x):
    """Rules that ask whether a tensor is empty, which is known only at run time."""
    n = x.shape[0]
    return x.median(), x.nanmedian(), x.logsumexp(0), x.logsumexp(1), torch.eye(n), torch.eye(3, n, dtype=torch.int64)


# Loops and branches over sizes without a bound, in one another, and with buffers.
def scanned(x):
    return scan(lambda c, v: (c + v, c * v), torch.zeros(4), x)


def mapped(x, y):
    return map_(lambda a, y: a + y, x, y)


def scan_reverse(x):
    by_row = scan(lambda c, v: (torch.cond(c.sum() > 0, torch.add, torch.sub, (c, v)), c + v), torch.ones(4), x, reverse=True)
    return by_row, scan(lambda c, v: (c + v, c * 2), torch.zeros(3), x[:3], dim=1)


def branch_by_size(x):
    return torch.cond(x.shape[0] > 4, lambda x: (x.sin(), x > 0), lambda x: (x.cos(), x < 0), (x,))


def loop_by_size(x):
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y.cumsum(0)), (zero(), x))[1]


def slots(self, x, at):
    """A cache of which parts are written: by a slice, by index and by a number from data."""
    place = at[0].item()
    torch._check(place >= 0)
    torch._check(place < 6)
    self.cache[:, 2:4] = x
    self.cache.index_copy_(1, at, x * 2)
    self.cache.narrow(1, place, 1).add_(1)
    self.cache.copy_(torch.cat([self.cache[:, 1:], self.cache[:, :1]], 1))
    return self.cache.sum(), self.cache.clone()


def multiples(x, y):
    """Sizes by floor division, modulo, the larger and the smaller one."""
    even = x[: x.shape[0] // 2 * 2].reshape(-1, 2, 4).sum(1)
    padded = torch.nn.functional.pad(x, (0, 0, 0, (-x.shape[0]) % 8))
    longer = torch.zeros(max(x.shape[0], y.shape[0]), 2) + torch.ones(min(x.shape[0], 3), 1).sum()
    return even, padded, longer, torch.stack([x, -x], 1).reshape(2 * x.shape[0], -1), x.unfold(0, 3, 2).mean(-1), x.repeat(y.shape[0], 1)


def given(x, mask, more, flag, name, n):
    """None, nested lists, numbers and a string go in and come out, an argument among them, and what is empty."""
    out = x * flag if mask is None else x * mask
    return {"out": [out, None, (x, x.t())], "n": (n + 1, n * x.shape[0], 2.5, name)}, out[:0], torch.empty(0, 3), more["w"][0] + n, x[:n]


def any_number(x, n):
    return x + 1


def programs(feature):
    free = {0: AUTO}
    feature("scanned", "", scanned, sizes(4, 3, 7, 1), dynamic=(free,))
    feature("mapped", "", mapped, lambda: [(randn(n, 4), randn(4)) for n in (3, 7)], dynamic=(free, None))
    feature("scan_reverse", "", scan_reverse, sizes(4, 3, 3))
    feature("branch_by_size", "", branch_by_size, sizes(4, 3, 7), dynamic=(free,))
    feature("loop_by_size", "", loop_by_size, sizes(4, 3, 7), dynamic=(free,))
    feature("multiples", "", multiples, lambda: [(randn(n, 4), randn(m)) for n, m in ((6, 4), (11, 9), (8, 2))], dynamic=(free, free))
    feature("given", "", given, lambda: [(randn(6, 2), None, {"w": [randn(2)]}, 2.0, "by name", n) for n in (2, 5)],
            dynamic=(None, None, {"w": [None]}, None, None, Dim.DYNAMIC))
    feature("any_number", "", any_number, lambda: [(randn(2), n) for n in (3, 5)], dynamic=(None, Dim.DYNAMIC))
    feature("slots", "", slots, lambda: [[(randn(2, 2), torch.tensor([0, 5])), (randn(2, 2), torch.tensor([1, 3]))]], buffers=lambda: {"cache": torch.zeros(2, 6)})
    feature("unknown_sizes", "", unknown_sizes, sizes(4, 5, 1, 2, 12), dynamic=({0: Dim("n", min=0, max=12)},))
    feature("splits", "", splits, lambda: [(randn(6, 5), torch.tensor([1, 3])), (randn(6, 5), torch.tensor([2, 5]))])
    feature("associative", "", associative, lambda: [(randn(2, 6), randn(2, 6))])
    feature("vmap", "", vmap, lambda: [(randn(n, 3), randn(4, 3)) for n in (5, 2)], dynamic=({0: Dim("n", min=2, max=9)}, None))
    feature("loops", "", loops, lambda: [(randn(4, 3),)])
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
