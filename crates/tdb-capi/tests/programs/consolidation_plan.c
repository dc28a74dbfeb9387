/* Plans of consolidation: nodes and fragments by sizes and by overlap. */
#include "check.h"

static void show(const char *words, uint64_t size) {
  tiledb_consolidation_plan_t *plan = NULL;
  uint64_t nodes = 9;
  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  OK(tiledb_consolidation_plan_create_with_mbr(ctx, array, size, &plan));
  OK(tiledb_consolidation_plan_get_num_nodes(ctx, plan, &nodes));
  printf("%s: %" PRIu64 " nodes\n", words, nodes);
  for (uint64_t i = 0; i < nodes; i++) {
    uint64_t count = 9;
    int times[16] = {0};
    OK(tiledb_consolidation_plan_get_num_fragments(ctx, plan, i, &count));
    for (uint64_t j = 0; j < count; j++) {
      const char *uri = NULL;
      int time = 0;
      OK(tiledb_consolidation_plan_get_fragment_uri(ctx, plan, i, j, &uri));
      const char *name = strstr(uri, "__");
      if (name != NULL && sscanf(name, "__%d_", &time) == 1 && time < 16) times[time] = 1;
    }
    printf("  fragments of:");
    for (int time = 0; time < 16; time++) {
      if (times[time]) printf(" %d", time);
    }
    printf("\n");
  }
  char *text = NULL;
  OK(tiledb_consolidation_plan_dump_json_str(ctx, plan, &text));
  printf("  JSON has nodes: %d\n", strstr(text, "\"nodes\"") != NULL);
  OK(tiledb_consolidation_plan_free_json_str(&text));
  const char *uri = NULL;
  uint64_t count = 0;
  CODE("  a node too many", tiledb_consolidation_plan_get_num_fragments(ctx, plan, nodes, &count));
  CODE("  a fragment of it", tiledb_consolidation_plan_get_fragment_uri(ctx, plan, nodes, 0, &uri));
  if (nodes > 0) CODE("  a fragment too many", tiledb_consolidation_plan_get_fragment_uri(ctx, plan, 0, 99, &uri));
  tiledb_consolidation_plan_free(&plan);
  printf("  freed: %d\n", plan == NULL);
  close_array(array);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 1, 1, 1000, 10);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  create("array", schema);
  show("no fragments", 1024 * 1024);
  int32_t d1[] = {1, 5, 3, 8, 100, 110, 200, 210, 500, 501}, a[] = {1, 2};
  write_sparse("array", 1, d1, a, 2);
  show("one fragment", 1024 * 1024);
  write_sparse("array", 2, d1 + 2, a, 2);
  write_sparse("array", 3, d1 + 4, a, 2);
  show("two that overlap, one apart", 10);
  show("all of them small", 1024 * 1024);
  write_sparse("array", 4, d1 + 6, a, 2);
  write_sparse("array", 5, d1 + 8, a, 2);
  write_sparse("array", 6, d1 + 4, a, 1);
  show("two pairs", 10);
  show("a large size", UINT64_C(1) << 40);

  tiledb_consolidation_plan_t *plan = NULL;
  CODE("no array", tiledb_consolidation_plan_create_with_mbr(ctx, NULL, 10, &plan));
  /* A closed array is left out: libtiledb 2.30 crashes. */
  CODE("no plan", tiledb_consolidation_plan_get_num_nodes(ctx, NULL, NULL));
  tiledb_consolidation_plan_free(&plan);
  return end();
}
