#!/usr/bin/python3
"""build_wheel.py VERSION ARCHITECTURE LIBRARIES FOLDER

Writes the wheel into FOLDER, without network and always with the same bytes: its times are
SOURCE_DATE_EPOCH. LIBRARIES is a folder with ptable.so, the libraries that it needs, and licenses/.
The tag says which libraries it needs; a wheel made the ordinary way would claim to run everywhere.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

version, architecture, libraries, folder = sys.argv[1:]
here = pathlib.Path(__file__).parent
tag = f"py3-none-manylinux_2_34_{architecture}"
info = f"ptable_sqlite-{version}.dist-info"
moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]

module = (here / "ptable_sqlite" / "__init__.py").read_text().replace("@VERSION@", version)
metadata = f"""Metadata-Version: 2.1
Name: ptable_sqlite
Version: {version}
Summary: Partitioned tables for SQLite, like those of Azure Table storage
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.7
Description-Content-Type: text/markdown

{(here / "README.md").read_text()}"""
files = {
    "ptable_sqlite/__init__.py": module.encode(),
    f"{info}/METADATA": metadata.encode(),
    f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: ptable\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
}
for path in sorted(pathlib.Path(libraries).rglob("*")):
    if path.is_file():
        inside = path.relative_to(libraries)
        where = f"{info}/{inside}" if inside.parts[0] == "licenses" else f"ptable_sqlite/{inside}"
        files[where] = path.read_bytes()


def record():
    """The list of all files with their hashes, and of itself without one."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{info}/RECORD,,\n"]).encode()


files[f"{info}/RECORD"] = record()
with zipfile.ZipFile(pathlib.Path(folder) / f"ptable_sqlite-{version}-{tag}.whl", "w") as wheel:
    for name, content in files.items():
        entry = zipfile.ZipInfo(name, moment)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, content)
