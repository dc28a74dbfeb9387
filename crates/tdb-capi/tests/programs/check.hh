/* Help for the programs in C++: values in a line, and calls that are refused. Upstream's headers
 * for C++ throw where a C function fails; an exception that nobody expects ends the program. */
#ifndef TDB_CHECK_HH
#define TDB_CHECK_HH

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <tiledb/tiledb>
#include <tiledb/tiledb_experimental>

/* Prints values in a line; bytes are printed as numbers. */
template <typename T>
void print(const std::string &words, const std::vector<T> &values) {
  std::cout << words << ":";
  for (const auto &value : values) {
    if constexpr (sizeof(T) == 1) std::cout << " " << static_cast<int>(value);
    else std::cout << " " << value;
  }
  std::cout << std::endl;
}

template <typename T>
void print(const std::string &words, std::vector<T> values, uint64_t count) {
  values.resize(count);
  print(words, values);
}

inline void print(const std::string &words, const std::string &text) {
  std::cout << words << ": |" << text << "|" << std::endl;
}

/* Says whether a call succeeds or throws. */
template <typename F>
void attempt(const std::string &words, F call) {
  try {
    call();
    std::cout << words << ": done" << std::endl;
  } catch (const std::exception &) {
    std::cout << words << ": refused" << std::endl;
  }
}

/* A sparse array of one INT32 dimension `d` from 1 to 100 and the INT32 attribute `a`. */
inline void create_sparse(const tiledb::Context &ctx, const std::string &uri) {
  tiledb::Domain domain(ctx);
  domain.add_dimension(tiledb::Dimension::create<int32_t>(ctx, "d", {{1, 100}}, 10));
  tiledb::ArraySchema schema(ctx, TILEDB_SPARSE);
  schema.set_domain(domain).set_capacity(4);
  schema.add_attribute(tiledb::Attribute::create<int32_t>(ctx, "a"));
  tiledb::Array::create(ctx, uri, schema);
}

/* An array that is open at a time. */
inline tiledb::Array open_at(
    const tiledb::Context &ctx, const std::string &uri, tiledb_query_type_t type, uint64_t time) {
  return tiledb::Array(ctx, uri, type, tiledb::TemporalPolicy(tiledb::TimeTravel, time));
}

inline void write_sparse(
    const tiledb::Context &ctx,
    const std::string &uri,
    uint64_t time,
    std::vector<int32_t> d,
    std::vector<int32_t> a) {
  auto array = open_at(ctx, uri, TILEDB_WRITE, time);
  tiledb::Query query(ctx, array, TILEDB_WRITE);
  query.set_layout(TILEDB_UNORDERED).set_data_buffer("d", d).set_data_buffer("a", a);
  query.submit();
  query.finalize();
  array.close();
}

inline void print_sparse(const std::string &words, tiledb::Query &query) {
  std::vector<int32_t> d(100), a(100);
  query.set_layout(TILEDB_ROW_MAJOR).set_data_buffer("d", d).set_data_buffer("a", a);
  query.submit();
  std::cout << words << ": " << query.query_status() << std::endl;
  auto found = query.result_buffer_elements();
  print("  d", d, found["d"].second);
  print("  a", a, found["a"].second);
}

inline void print_sparse(
    const std::string &words, const tiledb::Context &ctx, const std::string &uri, uint64_t time) {
  auto array = open_at(ctx, uri, TILEDB_READ, time);
  tiledb::Query query(ctx, array, TILEDB_READ);
  print_sparse(words, query);
}

#endif
