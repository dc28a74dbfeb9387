"""The virtual file system: local files and files in memory. The working folder is empty."""

import os

import tiledb


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


here = "file://" + os.getcwd()


def short(uris):
    return [uri.replace(here, "HERE") for uri in uris]


vfs = tiledb.VFS()
print(vfs.supports("file"), vfs.supports("mem"))
print(vfs.config()["vfs.min_batch_size"])
for base in ["folder", here + "/other", "mem://memory"]:
    print("==", base.replace(here, "HERE"))
    print(vfs.is_dir(base), vfs.is_file(base))
    print(vfs.create_dir(base), vfs.is_dir(base), vfs.create_dir(base))
    print(vfs.touch(base + "/empty"), vfs.is_file(base + "/empty"), vfs.file_size(base + "/empty"))
    print(vfs.touch(base + "/empty"))
    with vfs.open(base + "/file", "wb") as file:
        print(file.write(b"0123456789"), file.closed, file.writable())
    print(vfs.file_size(base + "/file"), file.closed)
    with vfs.open(base + "/file", "ab") as file:
        file.write(b"ab")
    with vfs.open(base + "/file") as file:
        print(file.read(), file.tell(), file.seek(3), file.read(4), len(file))
    with vfs.open(base + "/file", "wb") as file:
        file.write(b"new")
    print(vfs.file_size(base + "/file"))
    attempt(lambda: vfs.open(base + "/none"))
    attempt(lambda: vfs.file_size(base + "/none"))
    attempt(lambda: vfs.file_size(base))
    attempt(lambda: vfs.remove_file(base + "/none"))
    attempt(lambda: vfs.remove_dir(base + "/none"))
    attempt(lambda: vfs.ls(base + "/none"))
    attempt(lambda: vfs.dir_size(base + "/none"))
    print(vfs.create_dir(base + "/a"), vfs.touch(base + "/a/x"))
    with vfs.open(base + "/a/y", "wb") as file:
        file.write(b"12345")
    print(short(vfs.ls(base)))
    print(vfs.dir_size(base))
    print(vfs.move_file(base + "/a/y", base + "/z"), vfs.is_file(base + "/a/y"), vfs.file_size(base + "/z"))
    print(vfs.move_dir(base + "/a", base + "/b"), vfs.is_dir(base + "/a"), short(vfs.ls(base + "/b")))
    if not base.startswith("mem"):
        print(vfs.copy_file(base + "/z", base + "/copied"), vfs.file_size(base + "/copied"))
        print(vfs.copy_dir(base + "/b", base + "/c"), short(vfs.ls(base + "/c")))
        print(sorted(short(vfs.ls(base, recursive=True))))
        found = []
        vfs.ls_recursive(base, lambda path, size: (found.append((path.replace(here, "HERE"), size)), True)[1])
        print(sorted(found))
    print(vfs.remove_file(base + "/z"), vfs.is_file(base + "/z"))
    print(vfs.remove_dir(base), vfs.is_dir(base))
attempt(lambda: vfs.is_bucket("folder"))
with tiledb.VFS().open("closed", "wb") as file:
    pass
print(vfs.is_file("closed"), vfs.file_size("closed"))
attempt(lambda: file.write(b"late"))
