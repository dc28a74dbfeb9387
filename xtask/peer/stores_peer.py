"""libtiledb on an object store: reads an array whole and prints a digest of its cells, or writes arrays and prints their names.

    stores_peer.py --lib LIB [--config KEY=VALUE] --read URI | --write URI
"""

import argparse
import hashlib
import json

import capi
import expect
import write
from cases import Case, attr, dim

CREDENTIALS = {"vfs.s3.region": "us-east-1", "vfs.s3.scheme": "http", "vfs.s3.use_virtual_addressing": "false",
               "vfs.s3.aws_access_key_id": "somebody", "vfs.s3.aws_secret_access_key": "whatever"}


def read(lib, uri):
    reader = expect.Reader(lib)
    array = lib.open(uri, capi.READ)
    schema = reader.schema(array)
    domain = reader.non_empty_domain(array, schema)
    count, fields = reader.query(array, schema, "row-major", domain)
    content = hashlib.sha256()
    for name in sorted(fields):
        for part in ("data", "offsets", "validity"):
            content.update(fields[name].get(part, b""))
    print(json.dumps({"cells": count, "digest": content.hexdigest(), "metadata": reader.metadata(array)}))


def cases(version):
    dense = Case(version, "dense", [], [dim("x", "INT32", 1, 20, 5), dim("y", "INT32", 1, 30, 10)],
                 [attr("a"), attr("s", "STRING_ASCII", "var", nullable=True)])
    dense.dense(10, [[1, 20], [1, 30]]).dense(20, [[3, 9], [5, 25]])
    sparse = Case(version, "sparse", [], [dim("x", "INT64", 0, 999, 100)], [attr("a", "FLOAT64")], dense=False, capacity=10)
    sparse.sparse(10, [(x,) for x in range(0, 500, 7)]).sparse(20, [(x,) for x in range(0, 900, 11)])
    return [dense, sparse]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--config", default="")
    parser.add_argument("--read")
    parser.add_argument("--write")
    args = parser.parse_args()
    config = dict(CREDENTIALS, **dict([args.config.split("=", 1)] if args.config else []))
    lib = capi.Lib(args.lib, config)
    if args.read:
        read(lib, args.read)
    else:
        made = cases(lib.name)
        for case in made:
            write.run_case(lib, case.d, args.write, "writer")
        print(json.dumps([case.d["name"] for case in made]))


if __name__ == "__main__":
    main()
