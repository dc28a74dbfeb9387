"""Fetches the libraries of old releases out of TileDB-Py's wheels and prints where they are.

    python3 fetch.py [VERSION...]

prints one JSON object {libtiledb version: path of its shared library}. Without arguments it fetches all. The cache is
$XDG_CACHE_HOME/tdb-peers (or ~/.cache/tdb-peers)/<version>/; wheels are downloaded once, by pip. TDB_PEERS names another
cache directory.
"""

import glob
import json
import os
import subprocess
import sys
import zipfile

# libtiledb -> (TileDB-Py, a Python version it has a wheel for, format version), oldest first: a release of every minor version
# that TileDB-Py has wheels of. Fixtures are made by the releases of cases.py's VERSIONS, one a format version.
PEERS = {
    "1.6.3": ("0.4.4", "3.7", 3),
    "1.7.0": ("0.5.0", "3.7", 4),
    "1.7.7": ("0.5.9", "3.7", 4),
    "2.0.8": ("0.6.6", "3.8", 5),
    "2.1.6": ("0.7.7", "3.9", 6),
    "2.2.2": ("0.8.0", "3.9", 7),
    "2.2.7": ("0.8.7", "3.9", 8),
    "2.2.9": ("0.8.11", "3.9", 8),
    "2.3.3": ("0.9.5", "3.9", 9),
    "2.4.3": ("0.10.5", "3.9", 10),
    "2.5.3": ("0.11.5", "3.9", 10),
    "2.6.4": ("0.12.4", "3.9", 10),
    "2.7.2": ("0.13.3", "3.9", 11),
    "2.8.2": ("0.14.4", "3.9", 12),
    "2.9.5": ("0.15.6", "3.9", 13),
    "2.10.4": ("0.16.5", "3.9", 14),
    "2.11.3": ("0.17.6", "3.9", 15),
    "2.12.3": ("0.18.3", "3.9", 16),
    "2.13.1": ("0.19.1", "3.9", 16),
    "2.14.0": ("0.20.0", "3.9", 17),
    "2.15.4": ("0.21.6", "3.9", 18),
    "2.16.3": ("0.22.3", "3.9", 19),
    "2.17.4": ("0.23.4", "3.9", 20),
    "2.18.2": ("0.24.0", "3.9", 20),
    "2.19.2": ("0.25.1", "3.9", 21),
    "2.20.1": ("0.26.4", "3.9", 21),
    "2.21.1": ("0.27.1", "3.9", 21),
    "2.22.0": ("0.28.0", "3.9", 21),
    "2.23.0": ("0.29.1", "3.9", 21),
    "2.24.2": ("0.30.2", "3.9", 21),
    "2.25.0": ("0.31.1", "3.9", 22),
    "2.26.2": ("0.32.5", "3.9", 22),
    "2.27.2": ("0.33.6", "3.9", 22),
    "2.28.1": ("0.34.2", "3.9", 22),
    "2.29.2": ("0.35.2", "3.9", 22),
    "2.30.0": ("0.36.1", "3.11", 22),
}
PLATFORMS = ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64",
             "manylinux_2_28_x86_64"]


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("TDB_PEERS") or os.path.join(base, "tdb-peers")


def find(folder):
    """The bundled libtiledb below a folder."""
    hits = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names
            if name.startswith("libtiledb") and ".so" in name]
    return sorted(hits)[0] if hits else None


def fetch(version):
    binding, python, _ = PEERS[version]
    folder = os.path.join(cache(), version)
    path = find(folder)
    if path:
        return path
    wheels = os.path.join(cache(), "wheels")
    os.makedirs(wheels, exist_ok=True)
    have = glob.glob(os.path.join(wheels, "tiledb-%s-*.whl" % binding))
    if not have:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--implementation",
                   "cp", "--python-version", python, "-d", wheels, "tiledb==" + binding]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        subprocess.run(command, check=True, stdout=sys.stderr)
        have = glob.glob(os.path.join(wheels, "tiledb-%s-*.whl" % binding))
    # several processes may do this at once: extract aside, then rename
    aside = "%s.%d" % (folder, os.getpid())
    with zipfile.ZipFile(have[0]) as wheel:
        for name in wheel.namelist():
            base = os.path.basename(name)
            if ".so" in base and "cpython" not in base:
                wheel.extract(name, aside)
    try:
        os.rename(aside, folder)
    except OSError:
        pass
    return find(folder)


def main():
    versions = sys.argv[1:] or list(PEERS)
    unknown = [v for v in versions if v not in PEERS]
    if unknown:
        sys.exit("no wheel is known for " + ", ".join(unknown))
    print(json.dumps({v: fetch(v) for v in versions}))


if __name__ == "__main__":
    main()
