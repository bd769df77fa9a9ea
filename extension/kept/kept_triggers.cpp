// What the triggers of a kept table say. See kept_triggers.h.
#include "extension/kept/kept_triggers.h"

#include <cstring>
#include <initializer_list>

#include "extension/server/own_function.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr const char* kChangeFunction = "batmap_keep_changes";  // in the library

bool is_ours(const Trigger& trigger) { return is_function(trigger.tgfoid, kChangeFunction); }

struct FoundRelations {
  Oid oids[3];
  int count = 0;
};

bool find_relations(Node* node, void* found_relations) {
  if (node == nullptr) return false;
  auto* const found = static_cast<FoundRelations*>(found_relations);
  if (IsA(node, Const)) {
    const auto* const constant = castNode(Const, node);
    if (constant->consttype == REGCLASSOID && !constant->constisnull && found->count < 3)
      found->oids[found->count++] = DatumGetObjectId(constant->constvalue);
    return false;
  }
  return expression_tree_walker(node, walker(find_relations), found_relations);
}

}  // namespace

bool is_keep_trigger(const Trigger& trigger) {
  for (const char* const name :
       {kRowTrigger, kInsertTrigger, kUpdateTrigger, kDeleteTrigger, kTruncateTrigger, kAloneTrigger})
    if (strcmp(trigger.tgname, name) == 0) return is_ours(trigger);
  return false;
}

bool fires(const Trigger& trigger, bool is_partitioned) {
  if (strcmp(trigger.tgname, kAloneTrigger) == 0) return trigger.tgnewtable != nullptr;
  if (strcmp(trigger.tgname, kTruncateTrigger) == 0) return trigger.tgenabled == TRIGGER_FIRES_ALWAYS;
  if (strcmp(trigger.tgname, kRowTrigger) == 0)
    return trigger.tgenabled == TRIGGER_FIRES_ALWAYS || (!is_partitioned && trigger.tgenabled == TRIGGER_FIRES_ON_REPLICA);
  return trigger.tgenabled == TRIGGER_FIRES_ON_ORIGIN || trigger.tgenabled == TRIGGER_FIRES_ALWAYS;
}

bool find_companions(Relation table, Companions& companions, bool* is_copy) {
  if (table->trigdesc == nullptr) return false;
  for (int k = 0; k < table->trigdesc->numtriggers; ++k) {
    const Trigger& trigger = table->trigdesc->triggers[k];
    if (strcmp(trigger.tgname, kRowTrigger) != 0 || trigger.tgqual == nullptr) continue;
    // A look into the catalog may read the table's triggers anew.
    const char* const condition = pstrdup(trigger.tgqual);
    const bool is_clone = trigger.tgisclone;
    if (!is_ours(trigger)) continue;
    if (is_copy != nullptr) *is_copy = is_clone;
    FoundRelations found;
    find_relations(static_cast<Node*>(stringToNode(condition)), &found);
    if (found.count != 3) return false;
    companions = {found.oids[0], found.oids[1], found.oids[2]};
    return true;
  }
  return false;
}

const char* renamed_row_trigger(Relation table) {
  for (int k = 0; table->trigdesc != nullptr && k < table->trigdesc->numtriggers; ++k) {
    const Trigger trigger = table->trigdesc->triggers[k];
    if (!TRIGGER_FOR_ROW(trigger.tgtype) || trigger.tgqual == nullptr) continue;
    FoundRelations found;
    find_relations(static_cast<Node*>(stringToNode(trigger.tgqual)), &found);
    // A look into the catalog may read the table's triggers anew.
    const char* const name = pstrdup(trigger.tgname);
    if (found.count == 3 && strcmp(name, kRowTrigger) != 0 && is_ours(trigger)) return name;
  }
  return nullptr;
}

}  // namespace batmap::pg
