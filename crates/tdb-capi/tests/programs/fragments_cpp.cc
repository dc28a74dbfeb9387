/* Fragments, consolidation, vacuum and plans in C++. */
#include "check.hh"

using namespace tiledb;

static void show(const Context &ctx, const std::string &words, const std::string &uri) {
  FragmentInfo info(ctx, uri);
  info.load();
  std::cout << words << ": " << info.fragment_num() << " fragments, " << info.total_cell_num() << " cells, "
            << info.to_vacuum_num() << " to vacuum, " << info.unconsolidated_metadata_num() << std::endl;
  for (uint32_t i = 0; i < info.fragment_num(); i++) {
    int32_t bounds[2];
    auto times = info.timestamp_range(i);
    info.get_non_empty_domain(i, 0, bounds);
    std::cout << "  " << times.first << " to " << times.second << ", cells " << info.cell_num(i) << ", sparse "
              << info.sparse(i) << info.dense(i) << ", version " << info.version(i) << ", " << bounds[0] << " to "
              << bounds[1] << ", rectangles " << info.mbr_num(i) << ", consolidated "
              << info.has_consolidated_metadata(i) << ", bytes " << (info.fragment_size(i) > 0) << std::endl;
    info.get_non_empty_domain(i, "d", bounds);
    if (info.mbr_num(i) > 0) {
      info.get_mbr(i, 0, 0, bounds);
      std::cout << "  first rectangle " << bounds[0] << " to " << bounds[1] << std::endl;
    }
    if (info.array_schema(i).capacity() != 4) std::cout << "  another schema" << std::endl;
    if (info.fragment_uri(i).find("__fragments/") == std::string::npos) std::cout << "  elsewhere" << std::endl;
  }
}

int main() {
  Context ctx;
  create_sparse(ctx, "array");
  show(ctx, "new", "array");
  write_sparse(ctx, "array", 1, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5});
  write_sparse(ctx, "array", 2, {4, 60}, {40, 600});
  write_sparse(ctx, "array", 3, {90}, {900});
  show(ctx, "three", "array");

  {
    Array array(ctx, "array", TILEDB_READ);
    ConsolidationPlan plan(ctx, array, 1024 * 1024);
    std::cout << plan.num_nodes() << " node of " << plan.num_fragments(0) << ", JSON "
              << (plan.dump().find("nodes") != std::string::npos) << ", URI "
              << (plan.fragment_uri(0, 0).find("__") != std::string::npos) << std::endl;
    attempt("a node too many", [&] { plan.num_fragments(1); });
  }
  Config config;
  config["sm.consolidation.mode"] = "fragment_meta";
  config["sm.vacuum.mode"] = "fragment_meta";
  Array::consolidate(ctx, "array", &config);
  show(ctx, "metadata of fragments", "array");
  Array::vacuum(ctx, "array", &config);
  Array::consolidate(ctx, "array");
  show(ctx, "consolidated", "array");
  print_sparse("all", ctx, "array", 10);
  print_sparse("at 1", ctx, "array", 1);
  Array::vacuum(ctx, "array");
  show(ctx, "vacuumed", "array");
  print_sparse("all", ctx, "array", 10);

  create_sparse(ctx, "other");
  for (int32_t i = 1; i <= 4; i++) write_sparse(ctx, "other", i, {i}, {10 * i});
  Array::delete_fragments(ctx, "other", 2, 3);
  print_sparse("without two", ctx, "other", 10);
  FragmentInfo info(ctx, "other");
  info.load();
  auto name = info.fragment_uri(0);
  const char *list[] = {name.c_str()};
  Array::delete_fragments_list(ctx, "other", list, 1);
  print_sparse("without three", ctx, "other", 10);
  attempt("the same again", [&] { Array::delete_fragments_list(ctx, "other", list, 1); });
  attempt("a fragment too many", [&] { info.cell_num(9); });
  attempt("no such array", [&] { Array::consolidate(ctx, "missing"); });
  Array::delete_array(ctx, "other");
  std::cout << "gone: " << (Object::object(ctx, "other").type() == Object::Type::Invalid) << std::endl;
  return 0;
}
