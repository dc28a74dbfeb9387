/* Contexts, configurations, errors and versions in C++. */
#include "check.hh"

using namespace tiledb;

int main() {
  Config config;
  config["sm.dedup_coords"] = "true";
  config.set("vfs.s3.region", "somewhere");
  std::cout << std::string(config["sm.dedup_coords"]) << " " << config.get("vfs.s3.region") << " "
            << config.contains("vfs.s3.region") << config.contains("none") << std::endl;
  attempt("a wrong value", [&] { config["sm.dedup_coords"] = "perhaps"; });
  attempt("an unknown key", [&] { config.get("none"); });
  config["of.our.own"] = "kept";
  std::cout << config.get("of.our.own") << std::endl;
  config.unset("of.our.own");
  attempt("a key that was unset", [&] { config.get("of.our.own"); });
  config.unset("sm.dedup_coords");
  std::cout << config.get("sm.dedup_coords") << std::endl;

  int count = 0, regions = 0;
  for (auto it = config.begin("vfs.s3."); it != config.end(); ++it) {
    count++;
    regions += it->first == "region" && it->second == "somewhere";
  }
  std::cout << (count > 20) << " " << regions << std::endl;
  count = 0;
  for (const auto &one : config) count += one.first.rfind("sm.", 0) == 0;
  std::cout << (count > 50) << std::endl;

  config.save_to_file("saved");
  Config loaded("saved");
  std::cout << loaded.get("vfs.s3.region") << " " << (loaded == config) << (loaded != config) << std::endl;
  attempt("no such file", [&] { Config("missing"); });
  std::map<std::string, std::string> map{{"sm.check_coord_dups", "false"}};
  Config of_map(map);
  std::cout << of_map.get("sm.check_coord_dups") << std::endl;

  Context ctx(config);
  std::cout << ctx.config().get("vfs.s3.region") << " " << ctx.is_supported_fs(TILEDB_MEMFS)
            << ctx.is_supported_fs(TILEDB_HDFS) << std::endl;
  ctx.set_tag("key", "value");
  ctx.cancel_tasks();
  std::cout << ctx.stats().empty() << std::endl;

  /* An error handler of our own. */
  int told = 0;
  ctx.set_error_handler([&](const std::string &text) { told += !text.empty(); });
  Filter refused(ctx, TILEDB_FILTER_ZSTD);
  int32_t level = 1;
  refused.set_option(TILEDB_BIT_WIDTH_MAX_WINDOW, &level);
  std::cout << "told " << told << std::endl;

  auto v = version();
  std::cout << std::get<0>(v) << "." << std::get<1>(v) << std::endl;
  std::cout << impl::type_to_str(TILEDB_DATETIME_NS) << std::endl;

  Stats::enable();
  std::cout << Stats::is_enabled();
  Stats::reset();
  Stats::disable();
  std::cout << Stats::is_enabled() << std::endl;
  std::string text;
  Stats::dump(&text);
  std::cout << "text " << (text.find('{') != std::string::npos || text.find('[') != std::string::npos || text.empty()) << std::endl;
  return 0;
}
