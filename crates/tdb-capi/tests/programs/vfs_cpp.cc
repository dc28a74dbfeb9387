/* Files in C++: streams, lists, moves. */
#include "check.hh"

#include <algorithm>
#include <filesystem>

using namespace tiledb;

static void names(const std::string &words, std::vector<std::string> paths) {
  for (auto &path : paths) path = std::filesystem::path(path).filename().string();
  std::sort(paths.begin(), paths.end());
  print(words, paths);
}

static void work(const Context &ctx, const std::string &root) {
  VFS vfs(ctx);
  std::cout << root << std::endl;
  vfs.create_dir(root);
  vfs.create_dir(root + "/sub");
  vfs.touch(root + "/empty");
  {
    VFS::filebuf buffer(vfs);
    buffer.open(root + "/file", std::ios::out);
    std::ostream stream(&buffer);
    stream << "first line\n" << 42 << " " << 0.5 << "\n";
    stream.flush();
    buffer.close();
  }
  std::cout << "  size " << vfs.file_size(root + "/file") << ", empty " << vfs.file_size(root + "/empty")
            << ", folder " << vfs.dir_size(root) << std::endl;
  {
    VFS::filebuf buffer(vfs);
    buffer.open(root + "/file", std::ios::in);
    std::istream stream(&buffer);
    std::string line;
    std::getline(stream, line);
    print("  line", line);
    int number = 0;
    double real = 0;
    stream >> number >> real;
    std::cout << "  " << number << " " << real << " " << stream.good() << std::endl;
    stream.seekg(6);
    std::getline(stream, line);
    print("  from 6", line);
    buffer.close();
  }
  std::cout << "  " << vfs.is_file(root + "/file") << vfs.is_dir(root + "/file") << vfs.is_dir(root + "/sub")
            << vfs.is_file(root + "/none") << std::endl;
  names("  list", vfs.ls(root));
  vfs.move_file(root + "/file", root + "/sub/moved");
  names("  list", vfs.ls(root));
  std::cout << "  " << vfs.file_size(root + "/sub/moved") << std::endl;
  vfs.remove_file(root + "/sub/moved");
  attempt("  remove again", [&] { vfs.remove_file(root + "/sub/moved"); });
  attempt("  size of nothing", [&] { vfs.file_size(root + "/none"); });
  vfs.remove_dir(root);
  std::cout << "  removed " << !vfs.is_dir(root) << std::endl;
}

int main() {
  Context ctx;
  work(ctx, "folder");
  work(ctx, "mem://folder");

  VFS vfs(ctx);
  vfs.create_dir("tree");
  vfs.create_dir("tree/a");
  vfs.touch("tree/a/one");
  vfs.touch("tree/two");
  auto found = VFSExperimental::ls_recursive_filter(ctx, vfs, "tree");
  std::vector<std::string> paths;
  uint64_t bytes = 0;
  for (const auto &[path, size] : found) {
    paths.push_back(path);
    bytes += size;
  }
  names("recursive", paths);
  std::cout << bytes << std::endl;
  int visited = 0;
  VFSExperimental::ls_recursive(ctx, vfs, "tree", [&](std::string_view, uint64_t) {
    visited++;
    return false;
  });
  std::cout << "stopped after " << visited << std::endl;
  vfs.copy_file("tree/two", "tree/three");
  vfs.copy_dir("tree", "copy");
  vfs.move_dir("copy", "other");
  names("other", vfs.ls("other"));
  std::cout << vfs.config().get("vfs.min_parallel_size") << std::endl;
  return 0;
}
