/* Groups, objects and metadata in C++. */
#include "check.hh"

#include <algorithm>
#include <set>

using namespace tiledb;

static void members(const Context &ctx, const std::string &words) {
  Group group(ctx, "group", TILEDB_READ);
  std::set<std::string> names;
  for (uint64_t i = 0; i < group.member_count(); i++) {
    auto one = group.member(i);
    names.insert(one.name().value_or("(none)") + " " + (one.type() == Object::Type::Array ? "array" : "group"));
  }
  std::cout << words << ": " << group.member_count();
  for (const auto &name : names) std::cout << ", " << name;
  std::cout << std::endl;
  group.close();
}

int main() {
  Context ctx;
  Group::create(ctx, "group");
  Group::create(ctx, "group/inner");
  create_sparse(ctx, "group/array");
  create_sparse(ctx, "outside");
  attempt("created again", [&] { Group::create(ctx, "group"); });
  members(ctx, "new");

  Group group(ctx, "group", TILEDB_WRITE);
  group.add_member("array", true, "array");
  group.add_member("inner", true, "inner");
  group.close();
  members(ctx, "two");
  group.open(TILEDB_WRITE);
  group.remove_member("inner");
  int32_t numbers[] = {1, 2, 3};
  group.put_metadata("numbers", TILEDB_INT32, 3, numbers);
  group.put_metadata("text", TILEDB_STRING_UTF8, 5, "hello");
  group.close();
  members(ctx, "one");

  group.open(TILEDB_READ);
  std::cout << group.is_open() << (group.query_type() == TILEDB_READ) << " metadata " << group.metadata_num() << std::endl;
  for (uint64_t i = 0; i < group.metadata_num(); i++) {
    std::string key;
    tiledb_datatype_t type;
    uint32_t count;
    const void *value;
    group.get_metadata_from_index(i, &key, &type, &count, &value);
    std::cout << key << " " << impl::type_to_str(type) << " " << count << std::endl;
  }
  tiledb_datatype_t type;
  uint32_t count = 0;
  const void *value = nullptr;
  group.get_metadata("numbers", &type, &count, &value);
  print("numbers", std::vector<int32_t>(static_cast<const int32_t *>(value), static_cast<const int32_t *>(value) + count));
  std::cout << group.has_metadata("text", &type) << group.has_metadata("none", &type) << std::endl;
  std::cout << group.is_relative("array") << std::endl;
  auto member = group.member("array");
  std::cout << (member.type() == Object::Type::Array) << (member.uri().find("group/array") != std::string::npos) << std::endl;
  attempt("an unknown member", [&] { group.member("none"); });
  attempt("written while it is read", [&] { group.add_member("x", true, "x"); });
  std::cout << group.dump(false) .substr(0, 5) << std::endl;
  group.close();
  attempt("count of a closed group", [&] { group.member_count(); });

  /* Metadata of an array. */
  Array array(ctx, "outside", TILEDB_WRITE, TemporalPolicy(TimeTravel, 1));
  double half = 0.5;
  array.put_metadata("half", TILEDB_FLOAT64, 1, &half);
  array.put_metadata("none", TILEDB_STRING_UTF8, 0, nullptr);
  array.close();
  array.open(TILEDB_READ);
  array.get_metadata("half", &type, &count, &value);
  std::cout << array.metadata_num() << " " << *static_cast<const double *>(value) << " " << array.has_metadata("none", &type) << std::endl;
  std::string key;
  array.get_metadata_from_index(0, &key, &type, &count, &value);
  std::cout << key << std::endl;
  attempt("an index too many", [&] { array.get_metadata_from_index(9, &key, &type, &count, &value); });
  attempt("written while it is read", [&] { array.put_metadata("x", TILEDB_FLOAT64, 1, &half); });
  array.close();

  /* Objects below a folder. */
  std::vector<std::string> found;
  ObjectIter objects(ctx, "group");
  objects.set_recursive(TILEDB_PREORDER);
  for (const auto &object : objects) {
    auto uri = object.uri();
    found.push_back(uri.substr(uri.find("group/")) + (object.type() == Object::Type::Array ? " array" : " group"));
  }
  std::sort(found.begin(), found.end());
  for (const auto &one : found) std::cout << one << std::endl;
  Object::move(ctx, "outside", "moved");
  std::cout << (Object::object(ctx, "moved").type() == Object::Type::Array) << " "
            << (Object::object(ctx, "outside").type() == Object::Type::Invalid) << std::endl;
  Object::remove(ctx, "moved");
  attempt("remove of nothing", [&] { Object::remove(ctx, "moved"); });
  Group owner(ctx, "group", TILEDB_MODIFY_EXCLUSIVE);
  owner.delete_group("group", true);
  std::cout << (Object::object(ctx, "group").type() == Object::Type::Invalid) << std::endl;
  return 0;
}
