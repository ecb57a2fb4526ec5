// Variants as users load them: by file, by text, by name, and what is said when it fails.
#include <fstream>

#include "tests/unit/api/ApiFixture.h"

using namespace attnc;
using testing::Contains;
using testing::HasSubstr;

TEST(Variant, VariantLoadsFromTheStandardLibrary) {
  auto names = Variant::list("std");
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, Contains("causal"));
  for (const std::string &name : *names) {
    auto variant = Variant::load("std", name);
    ASSERT_TRUE(variant.ok()) << variant.error().message;
    EXPECT_EQ(variant->name(), name);
    auto again = Variant::fromIr(variant->ir());
    ASSERT_TRUE(again.ok()) << name << ": " << again.error().message;
    EXPECT_EQ(again->ir(), variant->ir()) << "the text form reads back";
    auto located = Variant::fromIr(variant->ir(true));
    ASSERT_TRUE(located.ok()) << name << ": " << located.error().message;
    EXPECT_EQ(located->ir(), variant->ir());
  }
}

TEST(Variant, VariantErrorsSayWhatToDo) {
  auto unknown = Variant::load("std", "cusal");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::NotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("defines no variant 'cusal'; did you mean 'causal'?"));
  auto several = Variant::load("std");
  ASSERT_FALSE(several.ok());
  EXPECT_THAT(several.error().message, HasSubstr("name one of"));
  auto absent = Variant::load("/no/such/file.attn");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  auto wrong = Variant::parse("variant broken { mask_mod = q_idx >= ; }", "broken.attn");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::InvalidVariant);
  EXPECT_THAT(wrong.error().message, HasSubstr("broken.attn:1:"));
  EXPECT_FALSE(Variant::fromIr("attn.variant @x { attn.frob }").ok());
  EXPECT_FALSE(Variant::fromIr("").ok());
}

TEST(Variant, VariantParsesText) {
  auto variant = Variant::parse("variant mine { mask_mod = q_idx >= kv_idx; }", "mine.attn");
  ASSERT_TRUE(variant.ok()) << variant.error().message;
  EXPECT_EQ(variant->name(), "mine");
  EXPECT_THAT(variant->ir(), HasSubstr("attn.mask_mod"));
}
