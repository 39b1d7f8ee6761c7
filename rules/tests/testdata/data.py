"""Loads a program whose weights are in a data file, with a pte_library: python3 data.py library.so program.pte data.ptd. It prints
the number of its methods."""

import ctypes
import sys


class Options(ctypes.Structure):  # pte_options
    _fields_ = [
        ("max_memory", ctypes.c_int64),
        ("max_instructions", ctypes.c_int64),
        ("seed", ctypes.c_uint64),
        ("threads", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("data", ctypes.c_uint64),
        ("weight_cache", ctypes.c_char_p),
    ]


def main(library, program_file, data_file):
    pte = ctypes.CDLL(library)
    pte.pte_last_error.restype = ctypes.c_char_p

    def check(status):
        assert status == 0, pte.pte_last_error()

    program, options, count = ctypes.c_uint64(), Options(), ctypes.c_uint32()
    assert pte.pte_program_load_file(program_file.encode(), None, ctypes.byref(program)) != 0
    data = ctypes.c_uint64()
    check(pte.pte_data_load_file(data_file.encode(), ctypes.byref(data)))
    options.data = data.value
    check(pte.pte_program_load_file(program_file.encode(), ctypes.byref(options), ctypes.byref(program)))
    check(pte.pte_program_method_count(program, ctypes.byref(count)))
    print(count.value)


main(*sys.argv[1:])
