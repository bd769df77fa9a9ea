// Makes texts of the server. See text_items.h.
#include "extension/types/text_items.h"

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

Datum* text_values(std::span<const std::string_view> texts, MemoryContext context, MemoryMeter& meter) {
  size_t bytes = texts.size() * sizeof(Datum) + 1;
  for (const std::string_view& text : texts) bytes += MAXALIGN(VARHDRSZ + text.size());
  guarded([&] { meter.charge(bytes); });
  auto* const values = static_cast<Datum*>(MemoryContextAllocHuge(context, bytes));
  char* at = reinterpret_cast<char*>(values + texts.size());
  for (size_t k = 0; k < texts.size(); ++k) {
    if (k % 65536 == 0) CHECK_FOR_INTERRUPTS();
    values[k] = PointerGetDatum(at);
    SET_VARSIZE(at, VARHDRSZ + texts[k].size());
    memcpy(VARDATA(at), texts[k].data(), texts[k].size());
    at += MAXALIGN(VARHDRSZ + texts[k].size());
  }
  return values;
}

UuidText::UuidText(const pg_uuid_t* uuid) {
  char* at = characters;
  for (int k = 0; k < UUID_LEN; ++k) {
    if (k == 4 || k == 6 || k == 8 || k == 10) *at++ = '-';
    *at++ = "0123456789abcdef"[uuid->data[k] >> 4];
    *at++ = "0123456789abcdef"[uuid->data[k] & 15];
  }
}

}  // namespace batmap::pg
