"""Makes the models of this folder and what they give: python models.py, in this folder, with torch 2.13."""

import numpy
import torch
from torch import nn
from torch._higher_order_ops.map import map as map_op


class Chain(nn.Module):
    """Twice convolution and relu, then tan: the small sister of the zoo's mapping_demo."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 5, 3, padding=1)

    def forward(self, x):
        return torch.tan(torch.relu(self.conv2(torch.relu(self.conv1(x)))))


class Gap(nn.Module):
    """A product lies between relu and tan, and both are used after it."""

    def forward(self, x):
        r = torch.relu(x)
        m = r * x
        return torch.tan(m) + torch.relu(m), r


class Branch(nn.Module):
    """Convolution in both branches of a cond, with weights from outside."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 2, 3, stride=2)
        self.conv2 = nn.Conv2d(2, 2, 3, stride=2)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: torch.relu(self.conv1(y)).flatten(), lambda y: torch.tan(self.conv2(y)).flatten(), (x,))


class LinearBranch(nn.Module):
    """Linear layers in both branches of a cond, with weights from outside: the official XNNPACK partitioner fails on them."""

    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(3, 4)
        self.linear2 = nn.Linear(3, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: torch.relu(self.linear1(y)), lambda y: torch.sigmoid(self.linear2(y)), (x,))


class Rows(nn.Module):
    """relu and tan in the body of a map."""

    def forward(self, x):
        return map_op(lambda row: torch.tan(torch.relu(row)), x)


class State(nn.Module):
    """A buffer that is written, next to a relu."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(torch.relu(x))
        return torch.tan(self.seen)


class Dynamic(nn.Module):
    """A convolution whose batch and height vary."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=(0, 1), dilation=(2, 1))

    def forward(self, x):
        return torch.relu(self.conv(x))


def main():
    torch.manual_seed(4)
    chain = Chain().eval()
    dims = {0: torch.export.Dim("n", max=4), 2: torch.export.Dim("h", min=6, max=12)}
    for name, model, inputs, dynamic in [
        ("chain", chain, (torch.randn(2, 3, 6, 6),), None),
        ("chain_small", chain, (torch.randn(1, 3, 4, 5),), None),
        ("gap", Gap(), (torch.randn(3, 4),), None),
        ("branch", Branch(), (torch.randn(1, 2, 5, 5),), None),
        ("rows", Rows(), (torch.randn(3, 4),), None),
        ("state", State(), (torch.randn(3),), None),
        ("dynamic", Dynamic().eval(), (torch.randn(2, 2, 8, 4),), ({**dims},)),
        ("linear_branch", LinearBranch().eval(), (torch.randn(2, 3),), None),
    ]:
        torch._dynamo.reset()
        torch.export.save(torch.export.export(model, inputs, dynamic_shapes=dynamic), name + ".pt2")
        if name in ("chain", "linear_branch"):
            numpy.save(name + "_in.npy", inputs[0].numpy())
            numpy.save(name + "_out.npy", model(*inputs).detach().numpy())


main()
