/* Schemas, domains, attributes and filters through upstream's C++ headers. */
#include "check.hh"

using namespace tiledb;

int main() {
  Context ctx;
  FilterList filters(ctx);
  Filter zstd(ctx, TILEDB_FILTER_ZSTD);
  zstd.set_option(TILEDB_COMPRESSION_LEVEL, 5);
  filters.add_filter(Filter(ctx, TILEDB_FILTER_BYTESHUFFLE)).add_filter(zstd);
  filters.set_max_chunk_size(2048);
  std::cout << filters.nfilters() << " filters, chunks of " << filters.max_chunk_size() << std::endl;
  std::cout << "level " << filters.filter(1).get_option<int32_t>(TILEDB_COMPRESSION_LEVEL) << std::endl;
  std::cout << Filter::to_str(filters.filter(0).filter_type()) << std::endl;
  attempt("an option of another filter", [&] { zstd.set_option(TILEDB_BIT_WIDTH_MAX_WINDOW, uint32_t(4)); });
  attempt("an option of another type", [&] { zstd.set_option(TILEDB_COMPRESSION_LEVEL, 5.5); });

  auto rows = Dimension::create<int32_t>(ctx, "rows", {{1, 10}}, 5);
  auto columns = Dimension::create<int32_t>(ctx, "columns", {{-10, 9}}, 10);
  rows.set_filter_list(filters);
  Domain domain(ctx);
  domain.add_dimensions(rows, columns);
  std::cout << domain.ndim() << " dimensions, " << domain.cell_num() << " cells" << std::endl;
  for (const auto &dimension : domain.dimensions()) {
    auto bounds = dimension.domain<int32_t>();
    std::cout << dimension.name() << " " << bounds.first << " to " << bounds.second << " by "
              << dimension.tile_extent<int32_t>() << ", " << dimension.domain_to_str() << ", "
              << dimension.tile_extent_to_str() << ", " << dimension.cell_val_num() << std::endl;
  }
  std::cout << domain.has_dimension("rows") << domain.has_dimension("none") << std::endl;
  attempt("an unknown dimension", [&] { domain.dimension("none"); });
  attempt("the domain as another type", [&] { domain.dimension(0).domain<int64_t>(); });
  attempt("from high to low", [&] { Dimension::create<int32_t>(ctx, "d", {{9, 1}}, 1); });

  ArraySchema schema(ctx, TILEDB_DENSE);
  schema.set_domain(domain).set_order({{TILEDB_COL_MAJOR, TILEDB_ROW_MAJOR}});
  auto a = Attribute::create<int32_t>(ctx, "a");
  auto pair = Attribute::create<std::array<float, 2>>(ctx, "pair");
  auto text = Attribute::create<std::string>(ctx, "text");
  auto maybe = Attribute::create<uint8_t>(ctx, "maybe", filters);
  maybe.set_nullable(true);
  int32_t seven = 7;
  a.set_fill_value(&seven, sizeof seven);
  schema.add_attributes(a, pair, text, maybe);
  schema.check();
  std::cout << schema.attribute_num() << " attributes" << std::endl;
  for (unsigned i = 0; i < schema.attribute_num(); i++) {
    auto attribute = schema.attribute(i);
    std::cout << attribute.name() << " " << impl::type_to_str(attribute.type()) << " "
              << attribute.cell_val_num() << " " << attribute.variable_sized() << " "
              << attribute.nullable() << " " << attribute.filter_list().nfilters() << std::endl;
  }
  const void *fill = nullptr;
  uint64_t size = 0;
  auto found = schema.attribute("a");
  found.get_fill_value(&fill, &size);
  std::cout << "fill " << *static_cast<const int32_t *>(fill) << " of " << size << std::endl;
  std::cout << schema.has_attribute("a") << schema.has_attribute("b") << std::endl;
  std::cout << ArraySchema::to_str(schema.array_type()) << " " << ArraySchema::to_str(schema.tile_order())
            << " " << ArraySchema::to_str(schema.cell_order()) << " " << schema.capacity() << " "
            << schema.allows_dups() << " " << schema.version() << std::endl;
  attempt("an unknown attribute", [&] { schema.attribute("b"); });
  attempt("duplicates", [&] { schema.set_allows_dups(true); });

  Array::create(ctx, "array", schema);
  ArraySchema loaded(ctx, "array");
  std::cout << loaded << std::endl;
  attempt("created again", [&] { Array::create(ctx, "array", schema); });
  attempt("no such array", [&] { ArraySchema(ctx, "missing"); });

  Domain keys(ctx);
  keys.add_dimension(Dimension::create(ctx, "key", TILEDB_STRING_ASCII, nullptr, nullptr));
  ArraySchema sparse(ctx, TILEDB_SPARSE);
  sparse.set_domain(keys).set_allows_dups(true).set_capacity(5);
  sparse.check();
  std::cout << sparse.domain().dimension(0).domain_to_str() << "|"
            << (sparse.domain().dimension(0).cell_val_num() == TILEDB_VAR_NUM) << sparse.allows_dups() << std::endl;
  attempt("an empty schema", [&] { ArraySchema(ctx, TILEDB_DENSE).check(); });
  return 0;
}
