"""Exports feature programs of the model zoo with the installed torch, into one small zip.

    python tools/oracle/archives.py ZOO OUT.zip

ZOO is the folder with the zoo's scripts. The zip has a folder of the zoo's format for each program. With it the
reader is held to the archives of every torch since 2.8. A program that this torch does not export is named on
standard error and left out.
"""

import sys
import tempfile
import types
import zipfile
from pathlib import Path

# Forms of programs rather than operators, whose archives differ from torch to torch.
NAMES = """channels_last cond_nested counter dtypes dynamic_scalar dynamic_sequence dynamic_two in_place
input_mutation item lifted map masked_select none_output pytree ring scalar_inputs scan shapes tied two_methods
while_loop""".split()

MOMENT = (2025, 1, 1, 0, 0, 0)  # of every file, so that the same programs give the same bytes


def load_zoo(folder):
    """The zoo's frame with its feature models, without the packages that its other models need."""
    sys.path.insert(0, str(folder))
    models = types.ModuleType("models")
    models.__path__ = [str(folder / "models")]
    sys.modules["models"] = models
    import models.features
    import zoo

    return zoo


def main(folder, out):
    pack(load_zoo(Path(folder)), NAMES, out)


def pack(zoo, names, out):
    """Exports the zoo's models of these names into the zip out."""
    with tempfile.TemporaryDirectory() as tmp, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name in names:
            try:
                zoo.export(zoo.MODELS[name], Path(tmp))
            except Exception as err:  # whatever an older torch says of a program that it does not know
                print(f"{name}: {zoo.text(err)}", file=sys.stderr)
                continue
            for file in sorted((Path(tmp) / name).rglob("*")):
                if file.is_file():
                    z.writestr(zipfile.ZipInfo(str(file.relative_to(tmp)), MOMENT), file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main(*sys.argv[1:])
