// A dictionary of datums over simplehash, the hash table of the server. See dictionary.h.
#include "extension/input/dictionary.h"

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

struct DatumEntry {
  Datum value;
  uint32_t hash;
  uint32_t id;
  char status;
};

static bool same_datum(datum_hash* table, Datum a, Datum b);
static uint32_t datum_hash_code(datum_hash* table, Datum value);

extern "C" {
#define SH_PREFIX datum
#define SH_ELEMENT_TYPE DatumEntry
#define SH_KEY_TYPE Datum
#define SH_KEY value
#define SH_HASH_KEY(table, key) datum_hash_code(table, key)
#define SH_EQUAL(table, a, b) same_datum(table, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "lib/simplehash.h"
#pragma GCC diagnostic pop
}

namespace {
batmap::pg::Dictionary& dictionary_of(datum_hash* table) {
  return *static_cast<batmap::pg::Dictionary*>(table->private_data);
}
}  // namespace

static bool same_datum(datum_hash* table, Datum a, Datum b) {
  batmap::pg::Dictionary& dictionary = dictionary_of(table);
  return DatumGetBool(FunctionCall2Coll(&dictionary.type->eq_opr_finfo, dictionary.collation, a, b));
}

static uint32_t datum_hash_code(datum_hash* table, Datum value) {
  batmap::pg::Dictionary& dictionary = dictionary_of(table);
  // Not all hash functions of types spread well (those of small integers do, those of some
  // extensions do not).
  return murmurhash32(DatumGetUInt32(FunctionCall1Coll(&dictionary.type->hash_proc_finfo, dictionary.collation, value)));
}

namespace batmap::pg {

namespace {
constexpr uint32_t kMaxValues = UINT32_MAX - 1;
constexpr size_t kBytesPerValue = sizeof(DatumEntry) * 2 + sizeof(Datum) + sizeof(uint32_t);

int compare_values(const void* a, const void* b, void* arg) {
  auto& dictionary = *static_cast<Dictionary*>(arg);
  CHECK_FOR_INTERRUPTS();
  const Datum x = dictionary.values[*static_cast<const uint32_t*>(a)];
  const Datum y = dictionary.values[*static_cast<const uint32_t*>(b)];
  const MemoryContext caller = MemoryContextSwitchTo(dictionary.scratch);
  const int order = DatumGetInt32(FunctionCall2Coll(&dictionary.type->cmp_proc_finfo, dictionary.collation, x, y));
  MemoryContextSwitchTo(caller);
  MemoryContextReset(dictionary.scratch);
  return order;
}

struct TextForms {
  char** text;
};

int compare_texts(const void* a, const void* b, void* arg) {
  CHECK_FOR_INTERRUPTS();
  char** const text = static_cast<TextForms*>(arg)->text;
  return strcmp(text[*static_cast<const uint32_t*>(a)], text[*static_cast<const uint32_t*>(b)]);
}

void* allocate(const Dictionary& dictionary, size_t count, size_t size) {
  return MemoryContextAllocHuge(dictionary.context, Max(count, 1) * size);
}

}  // namespace

Dictionary* dictionary_create(MemoryContext parent, Oid type, Oid collation, MemoryMeter& meter) {
  TypeCacheEntry* const entry =
      lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO | TYPECACHE_CMP_PROC_FINFO);
  if (!OidIsValid(entry->hash_proc_finfo.fn_oid) || !OidIsValid(entry->eq_opr_finfo.fn_oid))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                    errmsg("could not identify a hash function for type %s", format_type_be(type)),
                    errhint("Cast the column to a type that has one, such as text.")));
  const MemoryContext context = AllocSetContextCreate(parent, "batmap dictionary", ALLOCSET_DEFAULT_SIZES);
  auto* dictionary = static_cast<Dictionary*>(MemoryContextAllocZero(context, sizeof(Dictionary)));
  dictionary->context = context;
  dictionary->scratch = AllocSetContextCreate(context, "batmap dictionary scratch", ALLOCSET_SMALL_SIZES);
  dictionary->meter = &meter;
  dictionary->type = entry;
  dictionary->collation = collation;
  dictionary->table = datum_create(context, 1024, dictionary);
  dictionary->capacity = 1024;
  dictionary->values = static_cast<Datum*>(allocate(*dictionary, dictionary->capacity, sizeof(Datum)));
  return dictionary;
}

Dictionary* dictionary_of_values(MemoryContext context, Oid type, Datum* values, uint32_t count) {
  auto* dictionary = static_cast<Dictionary*>(MemoryContextAllocZero(context, sizeof(Dictionary)));
  dictionary->context = context;
  dictionary->type = lookup_type_cache(type, 0);
  dictionary->values = values;
  dictionary->count = dictionary->capacity = count;
  return dictionary;
}

uint32_t dictionary_id(Dictionary& dictionary, Datum value) {
  const TypeCacheEntry& type = *dictionary.type;
  const MemoryContext caller = MemoryContextSwitchTo(dictionary.scratch);
  if (type.typlen == -1) value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
  bool found;
  DatumEntry* const entry = datum_insert(dictionary.table, value, &found);
  if (!found) {
    if (dictionary.count >= kMaxValues)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("more than %u distinct values", kMaxValues),
                      errhint("Select fewer rows.")));
    const size_t bytes = kBytesPerValue + (type.typbyval ? 0 : datumGetSize(value, false, type.typlen));
    guarded([&] { dictionary.meter->charge(bytes); });
    if (dictionary.count == dictionary.capacity) {
      dictionary.capacity *= 2;
      dictionary.values = static_cast<Datum*>(repalloc_huge(dictionary.values, dictionary.capacity * sizeof(Datum)));
    }
    MemoryContextSwitchTo(dictionary.context);
    entry->value = datumCopy(value, type.typbyval, type.typlen);
    entry->id = dictionary.count;
    dictionary.values[dictionary.count++] = entry->value;
  } else if (dictionary.must_look_same && !datum_image_eq(entry->value, value, type.typbyval, type.typlen)) {
    dictionary.looks_differ = true;
  }
  const uint32_t id = entry->id;
  MemoryContextSwitchTo(caller);
  MemoryContextReset(dictionary.scratch);
  return id;
}

bool dictionary_find(Dictionary& dictionary, Datum value, uint32_t& id) {
  const MemoryContext caller = MemoryContextSwitchTo(dictionary.scratch);
  const DatumEntry* const entry = datum_lookup(dictionary.table, value);
  MemoryContextSwitchTo(caller);
  MemoryContextReset(dictionary.scratch);
  if (entry != nullptr) id = entry->id;
  return entry != nullptr;
}

uint32_t* dictionary_sort(Dictionary& dictionary) {
  const uint32_t count = dictionary.count;
  auto* const by_rank = static_cast<uint32_t*>(allocate(dictionary, count, sizeof(uint32_t)));
  for (uint32_t id = 0; id < count; ++id) by_rank[id] = id;
  if (OidIsValid(dictionary.type->cmp_proc_finfo.fn_oid)) {
    qsort_arg(by_rank, count, sizeof(uint32_t), compare_values, &dictionary);
  } else {
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(dictionary.type->type_id, &output, &is_varlena);
    const MemoryContext caller = MemoryContextSwitchTo(dictionary.context);
    TextForms forms{static_cast<char**>(allocate(dictionary, count, sizeof(char*)))};
    for (uint32_t id = 0; id < count; ++id) {
      CHECK_FOR_INTERRUPTS();
      forms.text[id] = OidOutputFunctionCall(output, dictionary.values[id]);
    }
    qsort_arg(by_rank, count, sizeof(uint32_t), compare_texts, &forms);
    MemoryContextSwitchTo(caller);
  }
  auto* const rank_of_id = static_cast<uint32_t*>(allocate(dictionary, count, sizeof(uint32_t)));
  auto* const values = static_cast<Datum*>(allocate(dictionary, count, sizeof(Datum)));
  for (uint32_t rank = 0; rank < count; ++rank) {
    rank_of_id[by_rank[rank]] = rank;
    values[rank] = dictionary.values[by_rank[rank]];
  }
  pfree(by_rank);
  dictionary.values = values;
  return rank_of_id;
}

}  // namespace batmap::pg
