#include "base/symbol_names.hpp"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

TEST(SymbolNames, FunctionsLoseReturnTypeAndParameters) {
  EXPECT_EQ(function_name("_Z5scalePfi"), "scale");
  EXPECT_EQ(function_name("_Z5scaleILi16EEvPf"), "scale<16>");
  EXPECT_EQ(function_name("_ZN3lib5scaleEPf"), "lib::scale");
  EXPECT_EQ(function_name("fill"), "fill");
}

TEST(SymbolNames, NamesThatCouldBeCodesOfTypesStay) {
  EXPECT_EQ(function_name("rd"), "rd");
  EXPECT_EQ(function_name("Pi"), "Pi");
  EXPECT_EQ(demangled("Pi"), "");
  EXPECT_EQ(function_name(function_name("_Z2rdPiPKii")), "rd");
}

TEST(SymbolNames, AFunctionInAnAnonymousNamespaceKeepsItsName) {
  EXPECT_EQ(function_name("_ZN12_GLOBAL__N_15scaleEPf"), "(anonymous namespace)::scale");
  EXPECT_EQ(function_name("_ZN12_GLOBAL__N_15scaleIfEEvPT_"),
            "(anonymous namespace)::scale<float>");
}

TEST(SymbolNames, VariablesLoseTheirFunction) {
  EXPECT_EQ(variable_name("_ZZ6matmulPfE4tile"), "tile");
  EXPECT_EQ(variable_name("weights"), "weights");
  EXPECT_EQ(variable_name("_Zwrong"), "_Zwrong");
}

TEST(SymbolNames, AStackFrameHasNoName) {
  EXPECT_EQ(variable_name("__local_depot0"), "");
}

}  // namespace
}  // namespace tilescope
