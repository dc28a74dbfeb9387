/* Consolidation and vacuum: fragments, commits, metadata of fragments, chosen fragments. */
#include "check.h"

static tiledb_config_t *config_of(const char *mode) {
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "sm.consolidation.mode", mode, &error));
  OK(tiledb_config_set(config, "sm.vacuum.mode", mode, &error));
  return config;
}

static void show(const char *words, const char *uri) {
  tiledb_fragment_info_t *info = NULL;
  uint32_t count = 0, vacuum = 0, loose = 0;
  OK(tiledb_fragment_info_alloc(ctx, uri, &info));
  OK(tiledb_fragment_info_load(ctx, info));
  OK(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
  OK(tiledb_fragment_info_get_to_vacuum_num(ctx, info, &vacuum));
  OK(tiledb_fragment_info_get_unconsolidated_metadata_num(ctx, info, &loose));
  printf("%s: %u fragments, %u to vacuum, %u with metadata of their own:", words, count, vacuum, loose);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t first = 0, last = 0;
    OK(tiledb_fragment_info_get_timestamp_range(ctx, info, i, &first, &last));
    printf(" %" PRIu64 "-%" PRIu64, first, last);
  }
  printf("\n");
  tiledb_fragment_info_free(&info);
}

static int32_t count_one(const char *path, void *data) {
  (void)path;
  ++*(int *)data;
  return 1;
}

static void commits(const char *uri) {
  char path[100];
  int count = 0;
  tiledb_vfs_t *vfs = NULL;
  OK(tiledb_vfs_alloc(ctx, NULL, &vfs));
  snprintf(path, sizeof path, "%s/__commits", uri);
  OK(tiledb_vfs_ls(ctx, vfs, path, count_one, &count));
  printf("  files of commits: %d\n", count);
  tiledb_vfs_free(&vfs);
}

static void run(const char *mode, const char *uri) {
  tiledb_config_t *config = config_of(mode);
  char words[60];
  OK(tiledb_array_consolidate(ctx, uri, config));
  snprintf(words, sizeof words, "%s consolidated", mode);
  show(words, uri);
  commits(uri);
  OK(tiledb_array_vacuum(ctx, uri, config));
  snprintf(words, sizeof words, "%s vacuumed", mode);
  show(words, uri);
  commits(uri);
  tiledb_config_free(&config);
}

static void make(const char *uri, int fragments) {
  create_sparse(uri);
  for (int i = 0; i < fragments; i++) {
    int32_t d1[] = {1 + i, 50 + 2 * i}, a[] = {i, 10 * i};
    write_sparse(uri, 1 + i, d1, a, 2);
  }
}

int main(void) {
  begin();
  make("sparse", 5);
  show("five", "sparse");
  run("fragment_meta", "sparse");
  run("commits", "sparse");
  run("fragments", "sparse");
  print_sparse("all", "sparse", 0);
  print_sparse("at 3", "sparse", 3);
  run("commits", "sparse");

  /* Some of the fragments, by their names. */
  make("chosen", 4);
  tiledb_fragment_info_t *info = NULL;
  OK(tiledb_fragment_info_alloc(ctx, "chosen", &info));
  OK(tiledb_fragment_info_load(ctx, info));
  char names[2][200];
  for (uint32_t i = 0; i < 2; i++) {
    tiledb_string_t *name = NULL;
    const char *view = NULL;
    size_t length = 0;
    OK(tiledb_fragment_info_get_fragment_name_v2(ctx, info, i + 1, &name));
    OK(tiledb_string_view(name, &view, &length));
    snprintf(names[i], sizeof names[i], "%.*s", (int)length, view);
    OK(tiledb_string_free(&name));
  }
  tiledb_fragment_info_free(&info);
  const char *list[] = {names[0], names[1]};
  OK(tiledb_array_consolidate_fragments(ctx, "chosen", list, 2, NULL));
  show("two of four", "chosen");
  print_sparse("all", "chosen", 0);
  OK(tiledb_array_vacuum(ctx, "chosen", NULL));
  show("vacuumed", "chosen");

  /* Within times. */
  make("window", 5);
  tiledb_config_t *config = config_of("fragments");
  tiledb_error_t *error = NULL;
  OK(tiledb_config_set(config, "sm.consolidation.timestamp_start", "2", &error));
  OK(tiledb_config_set(config, "sm.consolidation.timestamp_end", "4", &error));
  OK(tiledb_array_consolidate(ctx, "window", config));
  show("from 2 to 4", "window");
  OK(tiledb_array_vacuum(ctx, "window", config));
  show("vacuumed", "window");
  print_sparse("all", "window", 0);
  tiledb_config_free(&config);

  /* Dense fragments are joined where the cells of their box are all written. */
  create_dense("dense");
  int32_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  write_dense("dense", 1, TILEDB_ROW_MAJOR, (int32_t[]){1, 2, 1, 4}, values, 8);
  write_dense("dense", 2, TILEDB_ROW_MAJOR, (int32_t[]){3, 4, 1, 4}, values, 8);
  write_dense("dense", 3, TILEDB_ROW_MAJOR, (int32_t[]){2, 3, 2, 3}, values + 4, 4);
  run("fragments", "dense");
  print_dense("all", "dense", 0, TILEDB_ROW_MAJOR, (int32_t[]){1, 4, 1, 4});

  create_sparse("empty");
  OK(tiledb_array_consolidate(ctx, "empty", NULL));
  OK(tiledb_array_vacuum(ctx, "empty", NULL));
  show("empty", "empty");
  config = config_of("no such mode");
  CODE("no such mode", tiledb_array_consolidate(ctx, "sparse", config));
  CODE("no such mode", tiledb_array_vacuum(ctx, "sparse", config));
  tiledb_config_free(&config);
  CODE("no array", tiledb_array_consolidate(ctx, "missing", NULL));
  CODE("no array", tiledb_array_vacuum(ctx, "missing", NULL));
  CODE("no name", tiledb_array_consolidate(ctx, NULL, NULL));
  OK(tiledb_array_upgrade_version(ctx, "sparse", NULL));
  show("upgraded", "sparse");
  return end();
}
