// The text forms: what is accepted, what is refused and with which error, and round trips.
#include "set/set_text.h"

#include <gtest/gtest.h>

#include "test/unit/shared/compact_text.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

struct Parsed {
  Elements elements;
  std::optional<int> width;
};

Parsed parse(std::string_view text) {
  GrowingBuffer<uint64_t> elements(test_meter());
  elements.push_back(99);  // must be dropped
  const std::optional<int> width = parse_set_text(text, elements, test_options());
  return {to_vector(elements), width};
}

std::optional<ErrorCode> refusal(std::string_view text) {
  try {
    parse(text);
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

std::string print(const Elements& elements) {
  GrowingBuffer<char> out(test_meter());
  print_set_text(elements, out);
  return {out.begin(), out.end()};
}

TEST(SetText, ReadsBraces) {
  EXPECT_EQ(parse("{}").elements, Elements{});
  EXPECT_EQ(parse(" \t\n{ } ").elements, Elements{});
  EXPECT_EQ(parse("{1,5,9}").elements, (Elements{1, 5, 9}));
  EXPECT_EQ(parse("  { 9 ,1,\n5 , 1 , 0009}\r\n").elements, (Elements{1, 5, 9}));
  EXPECT_EQ(parse("{4611686018427387903,0}").elements, (Elements{0, 4611686018427387903}));
  EXPECT_EQ(parse("{-0}").elements, Elements{0});
  EXPECT_EQ(parse("{1}").width, std::nullopt);
}

TEST(SetText, ReadsJsonArrays) {
  EXPECT_EQ(parse("[]").elements, Elements{});
  EXPECT_EQ(parse(" \n[ ] ").elements, Elements{});
  EXPECT_EQ(parse("[1, 5, 9]").elements, (Elements{1, 5, 9}));
  EXPECT_EQ(parse("\t[ 9 ,1,\n5 , 1]").elements, (Elements{1, 5, 9}));
  EXPECT_EQ(parse("[4611686018427387903,0]").elements, (Elements{0, 4611686018427387903}));
  for (const char* text :
       {"[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[1]x", "[1}", "{1]", "[[1]]", "[null]", "[1.5]", "[\"1\"]"})
    EXPECT_EQ(refusal(text), ErrorCode::kInvalidData) << text;
  for (const char* text : {"[-1]", "[4611686018427387904]"}) EXPECT_EQ(refusal(text), ErrorCode::kInvalidParameter) << text;
}

TEST(SetText, RefusesWhatIsNoSet) {
  for (const char* text : {"",      " ",      "{",    "}",    "{1",    "{1,",     "{1,}",   "{,1}",     "{,}",
                           "1,2",   "{1 2}",  "{1}}", "{1}x", "{{1}}", "{NULL}",  "{null}", "{1,NULL}", "{1.5}",
                           "{1e3}", "{0x10}", "{+1}", "{-}",  "{a}",   "{\"1\"}", "(1)",    "b1",       "b2:AA=="})
    EXPECT_EQ(refusal(text), ErrorCode::kInvalidData) << text;
  for (const char* text : {"{-1}", "{4611686018427387904}", "{18446744073709551615}", "{18446744073709551616}",
                           "{99999999999999999999999999999999999999999999999999999}", "{1,-9223372036854775808}"})
    EXPECT_EQ(refusal(text), ErrorCode::kInvalidParameter) << text;
}

TEST(SetText, PrintsWhatItReads) {
  EXPECT_EQ(print({}), "{}");
  EXPECT_EQ(print({0}), "{0}");
  EXPECT_EQ(print({1, 5, 9}), "{1,5,9}");
  Random random(1);
  for (const uint64_t count : {1u, 4095u, 4096u, 4097u, 10000u})
    for (const int width : {14, 62}) {
      const Elements elements = random_elements(random, count, width);
      EXPECT_EQ(parse(print(elements)).elements, elements);
    }
}

TEST(SetText, CompactFormOfEverySet) {
  for (const NamedSet& set : awkward_sets()) {
    const std::string text = compact_text(set.bytes);
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.elements, set.elements) << set.name;
    ASSERT_EQ(parsed.width, set.width);
    std::string broken = " \n";
    for (size_t i = 0; i < text.size(); ++i) {
      broken += text[i];
      if (i > 2 && i % 76 == 0) broken += '\n';
    }
    ASSERT_EQ(parse(broken).elements, set.elements) << "in lines";
  }
}

TEST(SetText, CompactFormIsCheckedInFull) {
  const std::string text = compact_text(encode({1, 5, 9}, 20));
  EXPECT_EQ(text, "b1:ERQDAAAAAAABAAAABQAAAAkAAAA=");
  EXPECT_EQ(parse(text).elements, (Elements{1, 5, 9}));
  for (const char* wrong :
       {"b1:", "b1:ERQDAAAAAAABAAAABQAAAAkAAAA", "b1:ERQDAAAAAAABAAAABQAAAAkAAAA==", "b1:ERQDAAAAAAABAAAABQAAAAkAAAB=",
        "b1:ERQDAAAAAAABAAAABQAAAAkAAAA=A", "b1:ERQDAAAAAAABAAAABQAAAAkAAAA=====", "b1:ERQDAAAAAAAFAAAAAQAAAAkAAAA=",
        "b1:!RQDAAAAAAABAAAABQAAAAkAAAA=", "b1:====", "b1:A===", "b1:AA==AA==", "b1:ERQDAAAAAAABAAAABQAA=AkAAAA"})
    EXPECT_EQ(refusal(wrong), ErrorCode::kInvalidData) << wrong;
}

}  // namespace
}  // namespace batmap::test
