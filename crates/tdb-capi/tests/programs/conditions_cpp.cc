/* Query conditions and aggregates in C++. */
#include "check.hh"

using namespace tiledb;

static void rows(const Context &ctx, const std::string &words, const QueryCondition &condition) {
  Array array(ctx, "array", TILEDB_READ);
  Query query(ctx, array);
  query.set_condition(condition);
  print_sparse(words, query);
}

int main() {
  Context ctx;
  create_sparse(ctx, "array");
  write_sparse(ctx, "array", 1, {1, 2, 3, 4, 5, 6}, {10, -5, 30, 0, 50, 30});
  auto above = QueryCondition::create(ctx, "a", 5, TILEDB_GT);
  auto below = QueryCondition::create(ctx, "a", 40, TILEDB_LT);
  auto early = QueryCondition::create(ctx, "d", 2, TILEDB_LE);
  rows(ctx, "above", above);
  rows(ctx, "above and below", above.combine(below, TILEDB_AND));
  rows(ctx, "above or early", above.combine(early, TILEDB_OR));
  rows(ctx, "not above", above.negate());
  rows(ctx, "neither", above.combine(early, TILEDB_OR).negate());
  rows(ctx, "in", QueryConditionExperimental::create<int32_t>(ctx, "a", {30, 50, 7}, TILEDB_IN));
  rows(ctx, "not in", QueryConditionExperimental::create<int32_t>(ctx, "a", {30, 50, 7}, TILEDB_NOT_IN));
  QueryCondition by_bytes(ctx);
  int32_t zero = 0;
  by_bytes.init("a", &zero, sizeof zero, TILEDB_EQ);
  rows(ctx, "zero", by_bytes);
  attempt("an unknown field", [&] { rows(ctx, "never", QueryCondition::create(ctx, "b", 1, TILEDB_EQ)); });

  Array array(ctx, "array", TILEDB_READ);
  Query query(ctx, array);
  query.set_layout(TILEDB_UNORDERED).set_condition(above);
  auto channel = QueryExperimental::get_default_channel(query);
  channel.apply_aggregate("Count", CountOperation{});
  channel.apply_aggregate("Sum", QueryExperimental::create_unary_aggregate<SumOperator>(query, "a"));
  channel.apply_aggregate("Least", QueryExperimental::create_unary_aggregate<MinOperator>(query, "a"));
  channel.apply_aggregate("Most", QueryExperimental::create_unary_aggregate<MaxOperator>(query, "d"));
  channel.apply_aggregate("Mean", QueryExperimental::create_unary_aggregate<MeanOperator>(query, "a"));
  std::vector<uint64_t> count(1);
  std::vector<int64_t> sum(1);
  std::vector<int32_t> least(1), most(1);
  std::vector<double> mean(1);
  query.set_data_buffer("Count", count).set_data_buffer("Sum", sum).set_data_buffer("Least", least);
  query.set_data_buffer("Most", most).set_data_buffer("Mean", mean);
  query.submit();
  auto found = query.result_buffer_elements();
  std::cout << count[0] << " " << sum[0] << " " << least[0] << " " << most[0] << " " << mean[0] << std::endl;
  std::cout << found["Count"].second << found["Sum"].second << found["Mean"].second << std::endl;
  attempt("a name twice", [&] { channel.apply_aggregate("Count", CountOperation{}); });
  attempt("nulls of what has none", [&] {
    QueryExperimental::create_unary_aggregate<NullCountOperator>(query, "a");
  });
  attempt("an unknown field", [&] { QueryExperimental::create_unary_aggregate<SumOperator>(query, "b"); });

  /* A delete, by the same kind of condition. */
  auto deleted = open_at(ctx, "array", TILEDB_DELETE, 2);
  Query remove(ctx, deleted, TILEDB_DELETE);
  remove.set_condition(above);
  remove.submit();
  deleted.close();
  print_sparse("after a delete", ctx, "array", 10);
  print_sparse("before it", ctx, "array", 1);
  return 0;
}
