"""The C functions for ctypes, from `signatures.tsv`: names, and the kinds of arguments."""

import ctypes
import pathlib

POINTER = ctypes.c_void_p
FOLDER = pathlib.Path(__file__).resolve().parent.parent
NUMBERS = {"uint64_t": ctypes.c_uint64, "size_t": ctypes.c_uint64, "uint8_t": ctypes.c_uint8}


def plain(text):
    return text.replace("const ", "")


def is_pointer(text):
    return "*" in text or "callback" in text


def kind(text):
    return POINTER if is_pointer(text) else NUMBERS.get(plain(text), ctypes.c_uint32)


def functions():
    """The name, the type of the result and the types of the arguments of each function."""
    for line in (FOLDER / "signatures.tsv").read_text().splitlines()[1:]:
        name, result, arguments = line.split("\t")
        # A constant has no arguments at all.
        if arguments != "-":
            yield name, result, [text for text in arguments.split(", ") if text]


def constants():
    """The values of each enum, by the C name of its type."""
    values = {}
    for line in (FOLDER / "constants.tsv").read_text().splitlines()[1:]:
        enum, _, value = line.split("\t")
        enum = "object" if enum == "object_type" else enum
        values.setdefault(f"tiledb_{enum}_t", []).append(int(value))
    return values


def load(path):
    """The library, whose functions know the kinds of their arguments."""
    library = ctypes.CDLL(str(path))
    for name, result, types in functions():
        function = getattr(library, name)
        function.argtypes = [kind(text) for text in types]
        if result == "void":
            function.restype = None
        else:
            function.restype = POINTER if is_pointer(result) else ctypes.c_int
    return library
