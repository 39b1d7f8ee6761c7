"""digits classifies the images of a .npy file with the C library of the model, by ctypes and nothing else.

    python3 digits.py libdigits.so images.npy labels.npy
"""

import array
import ctypes
import sys

TENSOR, FLOAT32 = 1, 6  # pte_kind, pte_dtype
SIDE, CLASSES = 8, 10


class Handle(ctypes.Structure):  # pte_program, pte_instance, pte_method
    _fields_ = [("id", ctypes.c_uint64)]


class Value(ctypes.Structure):  # pte_value
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("number", ctypes.c_double),
        ("data", ctypes.c_void_p),
        ("nbytes", ctypes.c_uint64),
        ("rank", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("dim_order", ctypes.c_uint8 * 16),
        ("sizes", ctypes.c_int64 * 16),
    ]


class Library:
    """The functions of pte.h that this example calls; an error of one is a RuntimeError."""

    def __init__(self, path):
        assert ctypes.sizeof(Value) == 192
        self._c = ctypes.CDLL(path)
        self._c.pte_last_error.restype = ctypes.c_char_p
        assert self._c.pte_abi_version() == 3
        pointer, index = ctypes.c_void_p, ctypes.c_uint32
        for name, types in {
            "pte_program_load_embedded": [ctypes.c_char_p, pointer, pointer],
            "pte_program_destroy": [Handle],
            "pte_instance_create": [Handle, pointer],
            "pte_instance_destroy": [Handle],
            "pte_instance_method": [Handle, ctypes.c_char_p, pointer],
            "pte_method_set_input": [Handle, index, pointer],
            "pte_method_run": [Handle],
            "pte_method_get_output": [Handle, index, pointer],
        }.items():
            function = getattr(self._c, name)
            function.argtypes = types
            function.restype = None if name.endswith("_destroy") else self._check

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self._c.pte_last_error().decode())

    def __getattr__(self, name):
        return getattr(self._c, "pte_" + name)


def read_npy(path, typecode):
    """The elements of a .npy file."""
    with open(path, "rb") as f:
        file = f.read()
    if file[:6] != b"\x93NUMPY":
        raise ValueError(path + " is no .npy file")
    return array.array(typecode, file[10 + int.from_bytes(file[8:10], "little"):])


def tensor(elements, *sizes):
    """A Value of float32, which needs elements to stay."""
    address, count = elements.buffer_info()
    value = Value(kind=TENSOR, dtype=FLOAT32, data=address, nbytes=count * elements.itemsize, rank=len(sizes))
    value.sizes[:len(sizes)] = sizes
    return value


def classify(pte, images):
    """The class with the highest score for each image."""
    n = len(images) // (SIDE * SIDE)
    program, instance, forward, out = Handle(), Handle(), Handle(), Value()
    pte.program_load_embedded(None, None, ctypes.byref(program))
    pte.instance_create(program, ctypes.byref(instance))
    pte.instance_method(instance, b"forward", ctypes.byref(forward))
    pte.method_set_input(forward, 0, ctypes.byref(tensor(images, n, 1, SIDE, SIDE)))
    pte.method_run(forward)
    pte.method_get_output(forward, 0, ctypes.byref(out))
    scores = (ctypes.c_float * (n * CLASSES)).from_address(out.data)
    guesses = [max(range(CLASSES), key=lambda c: scores[i * CLASSES + c]) for i in range(n)]
    pte.instance_destroy(instance)
    pte.program_destroy(program)
    return guesses


def main(library, images, labels):
    guesses = classify(Library(library), read_npy(images, "f"))
    right = sum(g == l for g, l in zip(guesses, read_npy(labels, "q")))
    print(f"{right} of {len(guesses)} right: accuracy {100 * right / len(guesses):.1f} %")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
