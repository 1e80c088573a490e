// Chooses the body that codes a group of a job; a kernel's half warp runs it, and so does a test's
// loop.
#pragma once

#include "compression/cuda/hadamard.hpp"
#include "compression/cuda/half.hpp"

namespace compression::cuda {

constexpr std::uint64_t groups_of(const Job& job) {
    return job.count / kGroup + (job.count % kGroup > 0 ? 1 : 0);
}

template <class Team>
SWARM_LANES void encode_group(const Team& team, const Job& job, std::uint64_t group) {
    switch (job.format) {
        case Format::Bf16:
        case Format::Fp16:
            return encode_half(team, job, group);
        case Format::Int8:
            return encode_int8(team, job, group);
        case Format::Int4:
            return encode_int4(team, job, group);
        case Format::HadamardInt4:
            return encode_hadamard_int4(team, job, group);
    }
}

template <class Team>
SWARM_LANES void decode_group(const Team& team, const Job& job, std::uint64_t group) {
    switch (job.format) {
        case Format::Bf16:
        case Format::Fp16:
            return decode_half(team, job, group);
        case Format::Int8:
            return decode_int8(team, job, group);
        case Format::Int4:
            return decode_int4(team, job, group);
        case Format::HadamardInt4:
            return decode_hadamard_int4(team, job, group);
    }
}

}  // namespace compression::cuda
