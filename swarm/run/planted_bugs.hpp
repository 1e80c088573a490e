// Rules of the protocol that a test switches off one at a time, to show that the checks find the
// bug. Only tests set these switches; no flag and no file reaches them.
// Threading: values.
#pragma once

namespace swarm::run {

struct PlantedBugs {
    bool floors_off = false;             // a recall's promise is not kept
    bool inexact_set = false;            // a member contributes although its set differs
    bool result_in_accumulator = false;  // the reduced values overwrite the sums
    bool commit_before_fsync = false;    // COMMIT leaves before its record is durable
    bool dedup_off = false;              // a leg that comes twice is taken twice
    bool fence_off = false;              // a fenced slot stays in the roster; its work is replayed
    bool queue_unbounded = false;        // a full queue takes one more leg
    bool share_twice = false;            // one share of an exchange counts twice
    bool share_of_another = false;       // a share stays for the next exchange, and is taken there

    bool leg_of_anyone = false;          // a leg is taken from others than the hop before
    bool decision_of_anyone = false;     // a decision is taken from others than the coordinator
    bool path_of_anyone = false;         // a path is taken from others than its tail
    bool first_vote_counts = false;      // the first word about a state fixes it
    bool count_unchecked = false;        // a result that lacks a microbatch is taken
    bool squares_unchecked = false;      // replicas may differ in the squares of one result
    bool drop_of_one = false;            // one member's word skips a step
    bool failed_donor_again = false;     // a donor that failed is asked again
    bool caught_come_back = false;       // a caught peer may be a member at once

    [[nodiscard]] static const PlantedBugs& none() {
        static constexpr PlantedBugs kNone{};
        return kNone;
    }
};

}  // namespace swarm::run
