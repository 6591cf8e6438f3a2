// Accesses to shared memory across a cluster, one instruction of one warp in each case: those whose
// requests and sectors a profiler counted (bench/record_matrix.cpp --cluster), and that
// tests/observe/request_costs_test.cpp compares with them.
#pragma once

#include <vector>

#include "emulator/matrix_case_text.hpp"
#include "emulator/matrix_cases.hpp"

namespace tilescope::testing {

inline constexpr unsigned kNoLane = 0xffffffffu;
inline constexpr unsigned kImageBytes = 16384;  // bytes of shared memory, and a barrier behind them
inline constexpr unsigned kRanks = 4;

struct RemoteOperation {
  std::string text;  ///< %a the address, %b the barrier's, %v the values
  unsigned bytes;
};

inline std::vector<RemoteOperation> remote_operations() {
  const std::string async = ".shared::cluster.mbarrier::complete_tx::bytes";
  return {{"ld.shared::cluster.b32 %v0, [%a]", 4},
          {"st.shared::cluster.b32 [%a], %v0", 4},
          {"atom.shared::cluster.add.u32 %v0, [%a], %v1", 4},
          {"ld.shared::cluster.v4.b32 {%v0, %v1, %v2, %v3}, [%a]", 16},
          {"st.shared::cluster.v4.b32 [%a], {%v0, %v1, %v2, %v3}", 16},
          {"red.shared::cluster.add.u32 [%a], %v1", 4},
          {"st.async.weak" + async + ".b32 [%a], %v0, [%b]", 4},
          {"ld.shared::cluster.b64 %w0, [%a]", 8},
          {"st.shared::cluster.b64 [%a], %w0", 8},
          {"st.shared::cluster.u8 [%a], %v0", 1},
          {"atom.shared::cluster.cas.b32 %v0, [%a], %v1, %v2", 4},
          {"st.async.weak" + async + ".v4.b32 [%a], {%v0, %v1, %v2, %v3}, [%b]", 16},
          {"red.async.relaxed.cluster" + async + ".add.u32 [%a], %v1, [%b]", 4}};
}

struct Target {
  unsigned rank, offset;
};
struct RemotePattern {
  std::string name;
  Target (*of)(unsigned lane, unsigned bytes);
};

inline const RemotePattern kRemotePatterns[] = {
    {"row",
     [](unsigned l, unsigned s) {
       return Target{1, l * s};
     }},
    {"one element",
     [](unsigned, unsigned) {
       return Target{1, 0};
     }},
    {"step 2",
     [](unsigned l, unsigned s) {
       return Target{1, l * s * 2};
     }},
    {"step 9",
     [](unsigned l, unsigned s) {
       return Target{1, l * s * 9};
     }},
    {"step 32",
     [](unsigned l, unsigned s) {
       return Target{1, l * s * 32};
     }},
    {"shifted",
     [](unsigned l, unsigned s) {
       return Target{1, (l + 3) * s};
     }},
    {"own",
     [](unsigned l, unsigned s) {
       return Target{0, l * s};
     }},
    {"halves",
     [](unsigned l, unsigned s) {
       return Target{1 + l / 16, l * s};
     }},
    {"ranks in turn",
     [](unsigned l, unsigned s) {
       return Target{l % kRanks, l * s};
     }},
    {"ranks in turn, one element",
     [](unsigned l, unsigned) {
       return Target{l % kRanks, 0};
     }},
    {"one lane",
     [](unsigned l, unsigned s) {
       return l == 5 ? Target{1, s} : Target{kRanks, 0};
     }},
    {"odd lanes",
     [](unsigned l, unsigned s) {
       return l % 2 != 0 ? Target{1, l * s} : Target{kRanks, 0};
     }},
    {"8 lanes",
     [](unsigned l, unsigned s) {
       return l < 8 ? Target{2, l * s} : Target{kRanks, 0};
     }},
};

inline std::string remote_kernel(const RemoteOperation& operation) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n.reqntid 32, 1, 1\n"
         ".reqnctapercluster " +
         number(kRanks) +
         ", 1, 1\n{\n"
         ".shared .align 128 .b8 image[" +
         number(kImageBytes) +
         "];\n.shared .align 8 .b64 done;\n"
         ".reg .b64 %in, %out, %w<2>;\n.reg .b32 %t, %rank, %word, %to, %a, %b, %v<4>;\n"
         ".reg .pred %p, %first;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n"
         "mov.u32 %a, done;\nsetp.eq.u32 %first, %t, 0;\n"
         "@%first mbarrier.init.shared.b64 [%a], 1;\n"
         "fence.mbarrier_init.release.cluster;\n"
         "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
         "mov.u32 %rank, %cluster_ctarank;\nsetp.ne.u32 %p, %rank, 0;\n@%p bra END;\n"
         "mad.wide.u32 %in, %t, 4, %in;\nld.global.b32 %word, [%in];\n"
         "mad.wide.u32 %out, %t, 4, %out;\n"
         "setp.ne.u32 %p, %word, 0xffffffff;\n"
         "mov.b32 %v0, 7;\nmov.b32 %v1, %t;\nmov.b32 %v2, 3;\nmov.b32 %v3, 4;\n"
         "mov.b64 %w0, 7;\ncvt.u64.u32 %w1, %t;\n"
         "shr.u32 %to, %word, 24;\nand.b32 %word, %word, 0xffffff;\n"
         "mov.u32 %a, image;\nadd.u32 %a, %a, %word;\nmov.u32 %b, done;\n"
         "@!%p mov.u32 %to, 0;\n"
         "mapa.shared::cluster.u32 %a, %a, %to;\nmapa.shared::cluster.u32 %b, %b, %to;\n"
         "@%p " +
         operation.text +
         ";\n"
         "cvt.u32.u64 %word, %w0;\nadd.u32 %v0, %v0, %word;\nadd.u32 %v0, %v0, %v1;\n"
         "add.u32 %v2, %v2, %v3;\nadd.u32 %v0, %v0, %v2;\nst.global.b32 [%out], %v0;\n"
         "nanosleep.u32 20000;\n"
         "END:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n";
}

inline MatrixCase remote_case(const RemoteOperation& operation, const std::string& pattern) {
  MatrixCase c;
  c.name = operation.text.substr(0, operation.text.find(' ')) + ": " + pattern;
  c.ptx = remote_kernel(operation);
  c.blocks = kRanks;
  c.out_words = 32;
  c.in.resize(32);
  return c;
}

inline std::vector<MatrixCase> cluster_cases() {
  std::vector<MatrixCase> cases;
  for (const RemoteOperation& operation : remote_operations()) {
    for (const RemotePattern& pattern : kRemotePatterns) {
      MatrixCase c = remote_case(operation, pattern.name);
      for (unsigned lane = 0; lane < 32; ++lane) {
        const Target t = pattern.of(lane, operation.bytes);
        c.in[lane] = t.rank == kRanks ? kNoLane : t.rank << 24 | t.offset;
      }
      cases.push_back(std::move(c));
    }
    for (unsigned variant = 0; variant < 6; ++variant) {
      MatrixCase c = remote_case(operation, "scattered " + number(variant));
      MatrixRandom random(c.name);
      const unsigned elements = variant % 2 == 0 ? 64 : kImageBytes / operation.bytes / 2;
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned rank = variant < 3 ? 1 + variant % 3 : random.below(kRanks);
        const unsigned offset = random.below(elements) * operation.bytes;
        c.in[lane] = variant % 3 == 2 && random.below(3) == 0 ? kNoLane : rank << 24 | offset;
      }
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace tilescope::testing
