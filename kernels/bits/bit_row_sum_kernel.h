// The adder tree of bit_row_sum.h, for vectors of any width. Only the file of an instruction set includes
// this, inside its target region. It defines a `Vector` with kWords, load, store and add (carry-save).

template <typename Vector>
inline void add_group(BitRowSum& sum, const uint64_t* const* row) {
  using Value = typename Vector::Value;
  // The level where a carry of weight 16 ends: at each level whose bit of the group number is set,
  // it meets a waiting one.
  const int top = 4 + std::countr_one(sum.groups);
  if (top >= sum.levels) {
    for (int level = sum.levels; level <= top; ++level)
      for (size_t w = 0; w < sum.words; ++w) sum.plane[level][w] = 0;
    sum.levels = top + 1;
  }
  for (size_t w = 0; w < sum.words; w += Vector::kWords) {
    Value ones = Vector::load(&sum.plane[0][w]);
    Value twos = Vector::load(&sum.plane[1][w]);
    Value fours = Vector::load(&sum.plane[2][w]);
    Value eights = Vector::load(&sum.plane[3][w]);
    Value twos_a, twos_b, fours_a, fours_b, eights_a, eights_b, carry;
    auto add_rows = [&](int k, Value& twice) {
      Vector::add(twice, ones, ones, Vector::load(row[k] + w), Vector::load(row[k + 1] + w));
    };
    add_rows(0, twos_a);
    add_rows(2, twos_b);
    Vector::add(fours_a, twos, twos, twos_a, twos_b);
    add_rows(4, twos_a);
    add_rows(6, twos_b);
    Vector::add(fours_b, twos, twos, twos_a, twos_b);
    Vector::add(eights_a, fours, fours, fours_a, fours_b);
    add_rows(8, twos_a);
    add_rows(10, twos_b);
    Vector::add(fours_a, twos, twos, twos_a, twos_b);
    add_rows(12, twos_a);
    add_rows(14, twos_b);
    Vector::add(fours_b, twos, twos, twos_a, twos_b);
    Vector::add(eights_b, fours, fours, fours_a, fours_b);
    Vector::add(carry, eights, eights, eights_a, eights_b);
    Vector::store(&sum.plane[0][w], ones);
    Vector::store(&sum.plane[1][w], twos);
    Vector::store(&sum.plane[2][w], fours);
    Vector::store(&sum.plane[3][w], eights);
    for (int level = 4; level < top; ++level) {
      Value low = Vector::load(&sum.plane[level][w]);
      Vector::add(carry, low, low, Vector::load(&sum.pending[level][w]), carry);
      Vector::store(&sum.plane[level][w], low);
    }
    Vector::store(&sum.pending[top][w], carry);
  }
  ++sum.groups;
}

template <typename Vector>
inline void add_rows_by_groups(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count) {
  const uint64_t* group[BitRowSum::kGroupRows];
  size_t k = 0;
  for (; k + BitRowSum::kGroupRows <= count; k += BitRowSum::kGroupRows) {
    for (size_t i = 0; i < BitRowSum::kGroupRows; ++i) {
      group[i] = bits + rows[k + i] * stride;
      if (k + BitRowSum::kGroupRows + i < count)
        for (size_t w = 0; w < sum.words; w += 8)
          __builtin_prefetch(bits + rows[k + BitRowSum::kGroupRows + i] * stride + w);
    }
    add_group<Vector>(sum, group);
  }
  if (k == count) return;
  for (size_t i = 0; i < BitRowSum::kGroupRows; ++i) group[i] = k + i < count ? bits + rows[k + i] * stride : sum.no_row;
  add_group<Vector>(sum, group);
}
