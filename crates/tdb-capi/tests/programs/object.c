/* Objects: their types, walks in both orders, lists, moves, removals. */
#include "check.h"

static char *names[16];
static int count;

static int32_t visit(const char *path, tiledb_object_t type, void *data) {
  const char *word = NULL, *root = data, *at = strstr(path, root);
  char line[300];
  if (tiledb_object_type_to_str(type, &word) != TILEDB_OK) return -1;
  snprintf(line, sizeof line, "%s %s", at == NULL ? "?" : at, word);
  if (count < 16) names[count++] = strdup(line);
  return 1;
}

static int32_t stop(const char *path, tiledb_object_t type, void *data) {
  (void)path, (void)type;
  ++*(int *)data;
  return 0;
}

static int32_t broken(const char *path, tiledb_object_t type, void *data) {
  (void)path, (void)type, (void)data;
  return -1;
}

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show(const char *words, int sorted) {
  if (sorted) qsort(names, count, sizeof names[0], compare);
  printf("%s:\n", words);
  for (int i = 0; i < count; i++) {
    printf("  %s\n", names[i]);
    free(names[i]);
  }
  count = 0;
}

static void type_of(const char *path) {
  tiledb_object_t type;
  const char *word = NULL;
  OK(tiledb_object_type(ctx, path, &type));
  OK(tiledb_object_type_to_str(type, &word));
  printf("%s: %s\n", path, word);
}

int main(void) {
  begin();
  tiledb_vfs_t *vfs = NULL;
  OK(tiledb_group_create(ctx, "root"));
  OK(tiledb_group_create(ctx, "root/g1"));
  OK(tiledb_group_create(ctx, "root/g2"));
  create_sparse("root/g1/a1");
  create_dense("root/g2/a2");
  create_dense("root/a3");
  OK(tiledb_vfs_alloc(ctx, NULL, &vfs));
  OK(tiledb_vfs_create_dir(ctx, vfs, "root/plain"));
  tiledb_vfs_free(&vfs);

  type_of("root");
  type_of("root/g1");
  type_of("root/g1/a1");
  type_of("root/plain");
  type_of("missing");

  OK(tiledb_object_walk(ctx, "root", TILEDB_PREORDER, visit, "root"));
  show("preorder", 0);
  OK(tiledb_object_walk(ctx, "root", TILEDB_POSTORDER, visit, "root"));
  show("postorder", 0);
  OK(tiledb_object_ls(ctx, "root", visit, "root"));
  show("list", 1);
  int visited = 0;
  OK(tiledb_object_walk(ctx, "root", TILEDB_PREORDER, stop, &visited));
  printf("stopped after %d\n", visited);
  visited = 0;
  OK(tiledb_object_ls(ctx, "root", stop, &visited));
  printf("stopped after %d\n", visited);
  CODE("a callback that fails", tiledb_object_walk(ctx, "root", TILEDB_PREORDER, broken, NULL));

  OK(tiledb_object_move(ctx, "root/a3", "root/g1/moved"));
  type_of("root/a3");
  type_of("root/g1/moved");
  OK(tiledb_object_move(ctx, "root/g2", "root/g3"));
  type_of("root/g3/a2");
  CODE("move of nothing", tiledb_object_move(ctx, "missing", "other"));
  OK(tiledb_object_remove(ctx, "root/g1/a1"));
  type_of("root/g1/a1");
  OK(tiledb_object_remove(ctx, "root/g3"));
  type_of("root/g3");
  CODE("remove of nothing", tiledb_object_remove(ctx, "missing"));
  CODE("remove of a plain folder", tiledb_object_remove(ctx, "root/plain"));
  OK(tiledb_object_walk(ctx, "root", TILEDB_PREORDER, visit, "root"));
  show("what is left", 0);

  tiledb_object_t type;
  CODE("no path", tiledb_object_type(ctx, NULL, &type));
  CODE("nowhere for a type", tiledb_object_type(ctx, "root", NULL));
  CODE("no callback", tiledb_object_walk(ctx, "root", TILEDB_PREORDER, NULL, NULL));
  CODE("list without a callback", tiledb_object_ls(ctx, "root", NULL, NULL));
  CODE("no order", tiledb_object_walk(ctx, "root", (tiledb_walk_order_t)9, visit, "root"));
  count = 0;
  return end();
}
