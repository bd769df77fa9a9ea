// Decodes the pages of a sequential scan. See heap_rows.h.
#include "extension/input/heap_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Is its value computed when it is read? Tuples have a NULL in its place. Plans never read it from there.
bool is_virtual(Form_pg_attribute attribute) { return attribute->attgenerated == 'v'; }

/// Finds the offset of a column. @return false unless the column is passed by value and all columns up to it
/// have a fixed length: otherwise a slot, which reads all columns of a tuple in one pass, is better
bool locate(TupleDesc descriptor, AttrNumber number, HeapRows::Column& column) {
  if (number <= 0) return false;  // a system column
  int offset = 0;
  for (int k = 0; k < number; ++k) {
    const Form_pg_attribute attribute = TupleDescAttr(descriptor, k);
    if (is_virtual(attribute)) continue;
    if (attribute->attlen <= 0) return false;
    offset = static_cast<int>(att_align_nominal(offset, attribute->attalign));
    column = {number, offset, attribute->attlen};
    offset += attribute->attlen;
  }
  return column.number == number && TupleDescAttr(descriptor, number - 1)->attbyval;
}

/// Fills in how the bitmap of NULLs begins in a tuple in which nothing is missing.
void expect_present(TupleDesc descriptor, HeapRows& rows) {
  const int bytes = BITMAPLEN(rows.min_columns);
  if (bytes > static_cast<int>(sizeof rows.present)) return;
  for (int k = 0; k < rows.min_columns; ++k)
    if (!is_virtual(TupleDescAttr(descriptor, k))) rows.present[k / 8] |= static_cast<uint8_t>(1 << k % 8);
  rows.present_bytes = bytes;
  rows.present_mask = static_cast<uint8_t>(0xff >> (bytes * 8 - rows.min_columns));
}

// ---- one tuple

int64_t integer_value(int16 length, Datum value) {
  switch (length) {
    case sizeof(int16): return DatumGetInt16(value);
    case sizeof(int32): return DatumGetInt32(value);
    default: return DatumGetInt64(value);
  }
}

/// A tuple that lacks one of the columns, or one before them. @return the end of the rows in `out`
pg_noinline TidItem* decode_unusual(const HeapRows& rows, HeapTuple tuple, TidItem* out, int64_t* factors) {
  const TupleDesc descriptor = RelationGetDescr(rows.scan->ss.ss_currentRelation);
  Datum values[2];
  bool nulls[2];
  for (int k = 0; k < 2; ++k) {
    const int at = rows.encoders[k].first;
    values[at] = heap_getattr(tuple, rows.columns[k].number, descriptor, &nulls[at]);
  }
  if (leaves_out(rows.encoders[0], nulls) || leaves_out(rows.encoders[1], nulls)) return out;
  encode_key(rows.encoders[0], values, nulls, out->tid);
  encode_key(rows.encoders[1], values, nulls, out->item);
  for (int k = 0; k < rows.factor_count; ++k) {
    bool is_null;
    const Datum value = heap_getattr(tuple, rows.factors[k].number, descriptor, &is_null);
    factors[k] = is_null ? HeapRows::kNoFactor : integer_value(rows.factors[k].length, value);
  }
  return out + 1;
}

[[noreturn]] pg_noinline void report_damage(HeapScanDesc scan, OffsetNumber at) {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                  errmsg("tuple (%u,%u) of \"%s\" is damaged", scan->rs_cblock, static_cast<unsigned>(at),
                         RelationGetRelationName(scan->rs_base.rs_rd))));
}

template <typename Value>
int64_t load(const char* data) {
  Value value;
  memcpy(&value, data, sizeof value);
  return value;
}

/// The same for a length that is known only now.
int64_t load_integer(int16 length, const char* data) {
  switch (length) {
    case sizeof(int16): return load<int16>(data);
    case sizeof(int32): return load<int32>(data);
    default: return load<int64>(data);
  }
}

/// Decodes tuples of one page. Its members are copies, so that they can stay in registers.
template <typename Tid, typename Item, bool kFactors>
struct TupleDecoder {
  const HeapRows& rows;
  HeapScanDesc scan;
  Page page;
  size_t tid_offset;
  size_t item_offset;
  size_t min_bytes;
  int min_columns;
  int64_t* factors;  // of the next row
  int left_out = 0;  // tuples with a NULL

  TupleDecoder(const HeapRows& from, HeapScanDesc at, int64_t* to)
      : rows(from),
        scan(at),
        page(BufferGetPage(at->rs_cbuf)),
        tid_offset(static_cast<size_t>(from.columns[0].offset)),
        item_offset(static_cast<size_t>(from.columns[1].offset)),
        min_bytes(static_cast<size_t>(from.min_bytes)),
        min_columns(from.min_columns),
        factors(to) {}

  /// Is everything there that is read?
  pg_attribute_always_inline bool is_usual(const HeapTupleHeaderData* header, size_t bytes) const {
    return HeapTupleHeaderGetNatts(header) >= min_columns &&
           ((header->t_infomask & HEAP_HASNULL) == 0 || all_present(header, bytes));
  }

  /// Are the NULLs of a tuple in other columns only?
  pg_attribute_always_inline bool all_present(const HeapTupleHeaderData* header, size_t bytes) const {
    const int last = rows.present_bytes - 1;
    if (last < 0 || SizeofHeapTupleHeader + static_cast<size_t>(rows.present_bytes) > bytes) return false;
    for (int k = 0; k < last; ++k)
      if (header->t_bits[k] != rows.present[k]) return false;
    return (header->t_bits[last] & rows.present_mask) == rows.present[last];
  }

  pg_attribute_always_inline TidItem* decode(OffsetNumber at, ItemIdData line, TidItem* out) {
    const size_t start = line.lp_off;
    const size_t bytes = line.lp_len;
    const auto* const header = reinterpret_cast<HeapTupleHeader>(page + start);
    // Nothing outside the page is read, whatever is in it. A full scan by the server does not look.
    if (start + bytes > BLCKSZ || bytes < SizeofHeapTupleHeader) [[unlikely]]
      report_damage(scan, at);
    if (is_usual(header, bytes)) [[likely]] {
      if (header->t_hoff + min_bytes > bytes) [[unlikely]]
        report_damage(scan, at);
      const char* const data = reinterpret_cast<const char*>(header) + header->t_hoff;
      *out = {load<Tid>(data + tid_offset), load<Item>(data + item_offset)};
      if constexpr (kFactors)
        for (int k = 0; k < rows.factor_count; ++k)
          *factors++ = load_integer(rows.factors[k].length, data + rows.factors[k].offset);
      return out + 1;
    }
    HeapTupleData tuple;
    tuple.t_data = const_cast<HeapTupleHeader>(header);
    tuple.t_len = static_cast<uint32>(bytes);
    TidItem* const end = decode_unusual(rows, &tuple, out, factors);
    left_out += end == out;
    if constexpr (kFactors) factors += (end - out) * rows.factor_count;
    return end;
  }

  /// The part of a header that says where the values are: t_infomask2, t_infomask, t_hoff and the first byte of t_bits.
  static uint64_t shape_of(const void* tuple) {
    uint64_t shape;
    static_assert(offsetof(HeapTupleHeaderData, t_bits) == kShapeOffset + sizeof shape - 1);
    memcpy(&shape, static_cast<const char*>(tuple) + kShapeOffset, sizeof shape);
    return shape;
  }
  static constexpr size_t kShapeOffset = offsetof(HeapTupleHeaderData, t_infomask2) - 2;

  /// A line pointer as a number: offset, flags and length, the lowest bits first.
  static uint32_t line_bits(const ItemIdData& line) {
    uint32_t bits;
    static_assert(sizeof line == sizeof bits);
    memcpy(&bits, &line, sizeof bits);
    return bits;
  }
  static constexpr uint32_t kOffsetBits = 0x7fff;

  /// The bits of a shape that all tuples of a page must have in common, so that all can be read as the first one is.
  uint64_t shape_mask(bool has_nulls) const {
    HeapTupleHeaderData mask{};
    mask.t_infomask2 = HEAP_NATTS_MASK;
    mask.t_infomask = HEAP_HASNULL;
    mask.t_hoff = UINT8_MAX;
    return shape_of(&mask) | (has_nulls ? uint64_t{rows.present_mask} << 56 : 0);
  }

  /// Decodes all tuples of a page without a branch for each, if all have one length and one shape. All are visible.
  /// @return nullptr: they have not, and nothing is decoded
  TidItem* decode_alike(int lines, TidItem* out) const {
    const ItemIdData* const line = PageGetItemId(page, FirstOffsetNumber);
    const size_t bytes = line[0].lp_len;
    if (lines == 0 || !ItemIdIsNormal(line) || bytes < kShapeOffset + sizeof(uint64_t) || line[0].lp_off + bytes > BLCKSZ)
      return nullptr;
    const auto* const header = reinterpret_cast<const HeapTupleHeaderData*>(page + line[0].lp_off);
    const bool has_nulls = (header->t_infomask & HEAP_HASNULL) != 0;
    if (!is_usual(header, bytes) || header->t_hoff + min_bytes > bytes) return nullptr;
    if (has_nulls && rows.present_bytes > 1) return nullptr;  // not all of them are in the shape

    const size_t last_start = BLCKSZ - bytes;
    const size_t tid_at = header->t_hoff + tid_offset;
    const size_t item_at = header->t_hoff + item_offset;
    const uint32_t first_line = line_bits(line[0]);
    const uint64_t first_shape = shape_of(header);
    uint32_t unlike_lines = 0;
    uint64_t unlike_shapes = 0;
    size_t last = 0;
    for (int k = 0; k < lines; ++k) {
      const size_t start = line_bits(line[k]) & kOffsetBits;
      const char* const tuple = page + Min(start, last_start);  // what is read lies in the page, whatever is in it
      last = Max(last, start);
      unlike_lines |= line_bits(line[k]) ^ first_line;
      unlike_shapes |= shape_of(tuple) ^ first_shape;
      out[k] = {load<Tid>(tuple + tid_at), load<Item>(tuple + item_at)};
    }
    const bool alike = (unlike_lines & ~kOffsetBits) == 0 && (unlike_shapes & shape_mask(has_nulls)) == 0;
    return alike && last <= last_start ? out + lines : nullptr;
  }
};

// ---- one page

/// Lists the tuples of a page that a snapshot sees, in the way of the server's own scan. The page is locked.
int list_visible(HeapScanDesc scan, Page page, bool all_visible, bool serializable) {
  const Relation table = scan->rs_base.rs_rd;
  const Snapshot snapshot = scan->rs_base.rs_snapshot;
  const int lines = PageGetMaxOffsetNumber(page);
  int count = 0;
  for (int line = FirstOffsetNumber; line <= lines; ++line) {
    const auto at = static_cast<OffsetNumber>(line);
    const ItemId pointer = PageGetItemId(page, at);
    if (!ItemIdIsNormal(pointer)) continue;
    HeapTupleData tuple;
    tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, pointer));
    tuple.t_len = ItemIdGetLength(pointer);
    tuple.t_tableOid = RelationGetRelid(table);
    ItemPointerSet(&tuple.t_self, scan->rs_cblock, at);
    const bool visible = all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, scan->rs_cbuf);
    if (serializable) HeapCheckForSerializableConflictOut(visible, table, &tuple, scan->rs_cbuf, snapshot);
    if (visible) scan->rs_vistuples[count++] = at;
  }
  return count;
}

/// Do the headers alone say that a snapshot sees all tuples of a page? They do where old transactions have filled it, nobody has
/// deleted anything, and a scan has been there. So it is with a table that was loaded and not yet vacuumed. The conditions are
/// those under which HeapTupleSatisfiesMVCC() looks nowhere else.
bool headers_are_visible(Page page, int lines, Snapshot snapshot) {
  constexpr uint16 kSettled = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;
  TransactionId old = InvalidTransactionId;  // the last one that was found to be
  for (int line = FirstOffsetNumber; line <= lines; ++line) {
    const ItemId pointer = PageGetItemId(page, static_cast<OffsetNumber>(line));
    if (!ItemIdIsNormal(pointer)) continue;
    if (ItemIdGetOffset(pointer) > BLCKSZ - SizeofHeapTupleHeader) return false;
    const auto* const header = reinterpret_cast<const HeapTupleHeaderData*>(page + ItemIdGetOffset(pointer));
    if ((header->t_infomask & kSettled) != kSettled) return false;
    const TransactionId inserted = HeapTupleHeaderGetRawXmin(header);
    if (inserted == old || HeapTupleHeaderXminFrozen(header)) continue;
    if (!TransactionIdPrecedes(inserted, snapshot->xmin)) return false;
    old = inserted;
  }
  return true;
}

/// All of the page is read soon, and the processor does not foresee the order: so memory delivers many lines at once.
void prefetch(const char* page) {
  constexpr int kCacheLine = 64;
  for (int at = 0; at < BLCKSZ; at += kCacheLine) __builtin_prefetch(page + at);
}

template <typename Tid, typename Item, bool kFactors>
TidItem* decode_page(const HeapRows& rows, HeapScanDesc scan, TidItem* out, int64_t* factors) {
  const Relation table = scan->rs_base.rs_rd;
  const Snapshot snapshot = scan->rs_base.rs_snapshot;
  prefetch(BufferGetPage(scan->rs_cbuf));
  prune_page(scan);
  LockBuffer(scan->rs_cbuf, BUFFER_LOCK_SHARE);
  TupleDecoder<Tid, Item, kFactors> decoder(rows, scan, factors);
  const TidItem* const begin = out;
  check_snapshot_age(snapshot, table, decoder.page);
  const int lines = PageGetMaxOffsetNumber(decoder.page);
  if (lines > static_cast<int>(MaxHeapTuplesPerPage)) report_damage(scan, static_cast<OffsetNumber>(lines));
  // As in the server, the flag of the page is not trusted on a standby.
  const bool all_visible = PageIsAllVisible(decoder.page) && !snapshot->takenDuringRecovery;
  const bool serializable = CheckForSerializableConflictOutNeeded(table, snapshot);
  if (!serializable && (all_visible || headers_are_visible(decoder.page, lines, snapshot))) [[likely]] {
    TidItem* const end = kFactors ? nullptr : decoder.decode_alike(lines, out);
    if (end != nullptr)
      out = end;
    else
      for (int line = FirstOffsetNumber; line <= lines; ++line) {
        const auto at = static_cast<OffsetNumber>(line);
        const ItemIdData pointer = *PageGetItemId(decoder.page, at);
        if (ItemIdIsNormal(&pointer)) out = decoder.decode(at, pointer, out);
      }
    LockBuffer(scan->rs_cbuf, BUFFER_LOCK_UNLOCK);
  } else {
    const int visible = list_visible(scan, decoder.page, all_visible, serializable);
    // What is visible stays as it is while the page is pinned.
    LockBuffer(scan->rs_cbuf, BUFFER_LOCK_UNLOCK);
    for (int k = 0; k < visible; ++k) {
      const OffsetNumber at = scan->rs_vistuples[k];
      out = decoder.decode(at, *PageGetItemId(decoder.page, at), out);
    }
  }
  pgstat_count_index_tuples(table, out - begin + decoder.left_out);  // despite its name: what a scan returns
  return out;
}

template <typename Tid, bool kFactors>
auto decoder_for(KeyKind item) {
  switch (item) {
    case KeyKind::kInt2: return decode_page<Tid, int16, kFactors>;
    case KeyKind::kInt4: return decode_page<Tid, int32, kFactors>;
    default: return decode_page<Tid, int64, kFactors>;
  }
}

template <bool kFactors>
auto decoder_for(KeyKind tid, KeyKind item) {
  switch (tid) {
    case KeyKind::kInt2: return decoder_for<int16, kFactors>(item);
    case KeyKind::kInt4: return decoder_for<int32, kFactors>(item);
    default: return decoder_for<int64, kFactors>(item);
  }
}

/// The length of a column whose values are their own keys.
int bytes_of(KeyKind kind) {
  switch (kind) {
    case KeyKind::kInt2: return sizeof(int16);
    case KeyKind::kInt4: return sizeof(int32);
    default: return sizeof(int64);
  }
}

bool is_heap(Oid table) {
  const HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(row)) return false;
  const Oid method = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relam;
  ReleaseSysCache(row);
  return method == HEAP_TABLE_AM_OID;
}

bool has_fixed_length(Oid table, AttrNumber number) {
  const HeapTuple row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(number));
  if (!HeapTupleIsValid(row)) return false;
  const auto attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(row));
  const bool fixed = attribute->attlen > 0 || is_virtual(attribute);
  ReleaseSysCache(row);
  return fixed;
}

}  // namespace

bool is_heap_rows_path(PlannerInfo* root, const Path* path) {
  const Path* const scan = IsA(path, ProjectionPath) ? reinterpret_cast<const ProjectionPath*>(path)->subpath : path;
  if (scan->pathtype != T_SeqScan || scan->parent->baserestrictinfo != NIL) return false;
  if (list_length(path->pathtarget->exprs) != 2) return false;
  const Oid table = planner_rt_fetch(scan->parent->relid, root)->relid;
  AttrNumber columns = 0;
  const ListCell* cell;
  foreach (cell, path->pathtarget->exprs) {
    const auto* const column = static_cast<const Var*>(lfirst(cell));
    if (!IsA(column, Var) || column->varattno <= 0 || !is_own_key(key_kind(column->vartype))) return false;
    columns = Max(columns, column->varattno);
  }
  for (AttrNumber number = 1; number <= columns; ++number)
    if (!has_fixed_length(table, number)) return false;
  return is_heap(table);
}

bool find_heap_rows(PlanState* node, const KeyEncoder* encoders, HeapRows& rows, int first, int factors,
                    const int* positions) {
  if (!IsA(node, SeqScanState) || node->qual != nullptr || node->instrument != nullptr) return false;
  if (node->state->es_epq_active != nullptr) return false;
  if (positions == nullptr && list_length(node->plan->targetlist) != 2 + factors) return false;
  if (!IsMVCCSnapshot(node->state->es_snapshot)) return false;  // visibility is then not known page by page
  HeapRows found{};
  found.scan = castNode(SeqScanState, node);
  found.encoders = encoders;
  found.factor_count = factors;
  const Relation table = found.scan->ss.ss_currentRelation;
  if (table->rd_tableam != GetHeapamTableAmRoutine()) return false;
  const auto find = [&](int position, HeapRows::Column& column) {
    if (positions != nullptr) position = positions[position];
    const Expr* const value = list_nth_node(TargetEntry, node->plan->targetlist, position)->expr;
    if (!IsA(value, Var)) return false;
    const AttrNumber number = reinterpret_cast<const Var*>(value)->varattno;
    if (!locate(RelationGetDescr(table), number, column)) return false;
    found.min_columns = Max(found.min_columns, number);
    found.min_bytes = Max(found.min_bytes, column.offset + column.length);
    return true;
  };
  for (int k = 0; k < 2; ++k) {
    if (!is_own_key(encoders[k].kind)) return false;
    HeapRows::Column& column = found.columns[k];
    if (!find(encoders[k].first, column) || column.length != bytes_of(encoders[k].kind)) return false;
  }
  for (int k = 0; k < factors; ++k) {
    HeapRows::Column& column = found.factors[k];
    if (!find(first + k, column)) return false;
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), column.number - 1);
    if (!is_integer(attribute->atttypid) || (column.length == sizeof(int64) && !attribute->attnotnull)) return false;
  }
  expect_present(RelationGetDescr(table), found);
  found.decode = factors == 0 ? decoder_for<false>(encoders[0].kind, encoders[1].kind)
                              : decoder_for<true>(encoders[0].kind, encoders[1].kind);
  rows = found;
  return true;
}

TidItem* read_heap_page(const HeapRows& rows, TidItem* out, int64_t* factors) {
  ScanState& node = rows.scan->ss;
  // As in ExecProcNode: a rescan may have been put off until the next row.
  if (node.ps.chgParam != nullptr) ExecReScan(&node.ps);
  if (node.ss_currentScanDesc == nullptr)  // a parallel scan has one already
    node.ss_currentScanDesc = begin_scan(&node);
  auto* const scan = reinterpret_cast<HeapScanDesc>(node.ss_currentScanDesc);
  if (!pin_next_page(scan)) return nullptr;
  return rows.decode(rows, scan, out, factors);
}

}  // namespace batmap::pg
