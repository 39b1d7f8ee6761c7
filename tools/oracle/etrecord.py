"""Writes the ETRecord that lowerer/internal/etrecord/testdata has from the official exporter.

    python tools/oracle/etrecord.py lowerer/internal/etrecord/testdata/official.etrecord
"""

import sys
import zipfile
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import nn


class Net(nn.Module):
    """A linear layer and relu, which XNNPACK takes, and two operators that it does not."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        y = torch.relu(self.linear(x))
        return torch.erf(y).cumsum(0)


def main(path):
    torch.manual_seed(1)
    exported = torch.export.export(Net().eval(), (torch.randn(2, 3),))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    edge.to_executorch().get_etrecord().save(path)
    without_folders(path, [Path(__file__).resolve().parent, Path(torch.__file__).resolve().parents[2]])


def without_folders(path, folders):
    """Takes the names of these folders, which are this machine's, out of the graphs."""
    with zipfile.ZipFile(path) as z:
        members = [(name, z.read(name)) for name in z.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            for folder in folders if data.startswith(b"{") else []:
                data = data.replace(f"{folder}/".encode(), b"")
            z.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


main(sys.argv[1])
