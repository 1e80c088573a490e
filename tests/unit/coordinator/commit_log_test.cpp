#include "swarm/coordinator/commit_log.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

namespace swarm::coordinator {
namespace {

Digest digest_beginning(unsigned char first) {
    Digest value;
    value.bytes[0] = std::byte{first};
    value.bytes[31] = std::byte{0xfe};
    return value;
}

CommitRecord commit(std::uint64_t step, double loss) {
    CommitRecord record;
    record.version = {2, step};
    record.epoch = make_epoch(3, 9);
    record.scalars = {0.1, 3e-3, 1.0 / 3, std::numeric_limits<double>::denorm_min()};
    record.loss = loss;
    record.gradient_norm = 1e300;
    record.result_hashes = {digest_beginning(1), digest_beginning(2)};
    return record;
}

std::vector<LogRecord> one_of_each() {
    return {
        CincRecord{7},
        commit(5, 2.25),
        skip_of({2, 6}, make_epoch(3, 11)),
        StateRecord{{2, 6}, {1}, digest_beginning(9)},
        CheckpointRecord{{2, 6}, "step-6"},
        RollbackRecord{{3, 6}},
        CincRecord{8, {3, 2, 1}},
        exchange_of({3, 6}, make_epoch(8, 1), {digest_beginning(3), digest_beginning(4)})};
}

/// Every field of a record decides its line, so equal lines are equal records.
std::string reread(const std::string& line) {
    const auto record = parse_record(line);
    return record ? to_line(*record) : record.error().detail;
}

TEST(CommitLog, ReadsBackEveryRecord) {
    for (const LogRecord& record : one_of_each()) {
        const auto back = parse_record(to_line(record));
        ASSERT_TRUE(back) << to_line(record);
        EXPECT_EQ(back->index(), record.index());
        EXPECT_EQ(to_line(*back), to_line(record));
    }
}

TEST(CommitLog, ReadsBackACommitBitForBit) {
    const CommitRecord written = commit(5, 0.1 + 0.2);
    const auto record = parse_record(to_line(written));
    ASSERT_TRUE(record);
    const auto& back = std::get<CommitRecord>(*record);
    EXPECT_EQ(back.version, written.version);
    EXPECT_EQ(back.epoch, written.epoch);
    EXPECT_EQ(back.scalars, written.scalars);
    EXPECT_EQ(back.loss, written.loss);
    EXPECT_EQ(back.gradient_norm, written.gradient_norm);
    EXPECT_EQ(back.result_hashes, written.result_hashes);
}

TEST(CommitLog, AnExchangeIsAVersionWithoutALossAndEndsNoRowOfSkips) {
    RunHistory history;
    history.apply(commit(0, 1.5));
    history.apply(skip_of({2, 1}, make_epoch(3, 1)));
    const auto read =
        parse_record(to_line(exchange_of({2, 2}, make_epoch(3, 1), {digest_beginning(7)})));
    ASSERT_TRUE(read) << read.error().detail;
    const auto& exchange = std::get<CommitRecord>(*read);
    EXPECT_TRUE(exchange.exchanges());
    EXPECT_FALSE(exchange.skips());
    EXPECT_EQ(exchange.result_hashes, std::vector<Digest>{digest_beginning(7)});
    history.apply(*read);
    EXPECT_EQ(history.version, (ParameterVersion{2, 3}));
    EXPECT_EQ(history.losses.size(), 1U);
    EXPECT_EQ(history.skips_in_a_row, 1U);
    EXPECT_TRUE(history.last_commit->exchanges());
    EXPECT_FALSE(parse_record("exchange 2 2 1"));
}

TEST(CommitLog, ReadsBackTheMembersOfEachStage) {
    const PeerId one{{1, 2, 3, 0xfedcba9876543210}};
    const PeerId two{{~0ULL, 0, 0, 0}};
    const MembersRecord written{{{{0}, {two, one}}, {{1}, {one}}}};
    const std::string line = to_line(written);
    EXPECT_EQ(line.size(), std::string("members").size() + 3 * 65);
    const auto record = parse_record(line);
    ASSERT_TRUE(record) << record.error().detail;
    EXPECT_EQ(std::get<MembersRecord>(*record).members, written.members);
    RunHistory history;
    history.apply(*record);
    EXPECT_EQ(history.members, written.members);
    history.apply(RollbackRecord{{1, 0}});
    EXPECT_TRUE(history.members.empty()) << "they hold a version that counts no more";
}

TEST(CommitLog, RefusesMembersThatAreNoPeers) {
    const std::string line = to_line(MembersRecord{{{{0}, {PeerId{{1}}, PeerId{{2}}}}}});
    ASSERT_TRUE(parse_record(line));
    for (std::size_t cut = 1; cut <= 65; ++cut) {
        const std::string torn = line.substr(0, line.size() - cut);
        EXPECT_EQ(parse_record(torn).has_value(), cut == 65) << torn;
    }
    for (const char* const end : {" ", ",", " x", "0", ",0"}) {
        EXPECT_FALSE(parse_record(line + end)) << end;
    }
    EXPECT_FALSE(parse_record("members"));
    EXPECT_FALSE(parse_record("members " + std::string(64, 'g')));
}

CommitRecord choosing(std::uint64_t step, run::LegCodecs codecs) {
    CommitRecord record = commit(step, 1);
    record.codecs = std::move(codecs);
    return record;
}

TEST(CommitLog, ReadsBackTheCodecsOfTheNextStep) {
    const run::LegCodecs codecs{protocol::CodecId::Int4, protocol::CodecId::None};
    const std::string line = to_line(choosing(5, codecs));
    EXPECT_TRUE(line.ends_with(" codecs=int4/none")) << line;
    const auto record = parse_record(line);
    ASSERT_TRUE(record);
    EXPECT_EQ(std::get<CommitRecord>(*record).codecs, codecs);
    EXPECT_EQ(std::get<CommitRecord>(*record).result_hashes.size(), 2U);
}

TEST(CommitLog, RefusesWordsThatNameNoCodecs) {
    const std::string line =
        to_line(choosing(5, {protocol::CodecId::Int4, protocol::CodecId::None}));
    const std::string start = line.substr(0, line.find(" codecs="));
    ASSERT_TRUE(parse_record(start));
    for (const char* const end :
         {" codecs=",
          " codecs=zip/none",
          " codecs=none",
          " codecs=none/none,none/none",
          " codecs=none/none ",
          " codecs=none/none x",
          " codec=none/none"}) {
        EXPECT_FALSE(parse_record(start + end)) << end;
    }
}

TEST(CommitLog, KnowsTheCodecsOfEachStep) {
    const run::LegCodecs first{protocol::CodecId::Int4, protocol::CodecId::None};
    const run::LegCodecs second{protocol::CodecId::None, protocol::CodecId::None};
    RunHistory history;
    history.apply(commit(0, 1));
    EXPECT_TRUE(history.codecs.empty());
    history.apply(choosing(1, first));
    history.apply(commit(2, 1));
    history.apply(choosing(3, first));
    history.apply(choosing(4, second));
    ASSERT_EQ(history.codecs.size(), 2U);
    EXPECT_EQ(history.codecs[0].step, 2U);
    EXPECT_EQ(history.codecs[0].codecs, first);
    EXPECT_EQ(history.codecs[1].step, 5U);
    EXPECT_EQ(history.codecs[1].codecs, second);
    history.apply(RollbackRecord{{3, 3}});  // the latest choice stays
    ASSERT_EQ(history.codecs.size(), 2U);
    EXPECT_EQ(history.codecs[1].step, 3U);
    EXPECT_EQ(history.codecs[1].codecs, second);
    history.apply(RollbackRecord{{4, 0}});
    ASSERT_EQ(history.codecs.size(), 1U);
    EXPECT_EQ(history.codecs[0].step, 0U);
}

TEST(CommitLog, ReadsBackTheSplit) {
    const std::string line = to_line(CincRecord{8, {3, 2, 10}});
    EXPECT_EQ(line, "cinc 8 layers=3,2,10");
    const auto record = parse_record(line);
    ASSERT_TRUE(record);
    EXPECT_EQ(
        std::get<CincRecord>(*record).layers_per_stage, (std::vector<std::uint32_t>{3, 2, 10})
    );
    EXPECT_TRUE(parse_record("cinc 8")) << "as logs of old have it";
    const std::string digest_beginning(64, 'a');
    for (const std::string& start : {std::string("cinc 8"), line}) {
        const auto settled = parse_record(start + " settings=" + digest_beginning);
        ASSERT_TRUE(settled) << settled.error().detail;
        EXPECT_EQ(to_line(*settled), start + " settings=" + digest_beginning);
        EXPECT_FALSE(parse_record(start + " settings=" + digest_beginning + " x"));
        EXPECT_FALSE(parse_record(start + " settings=a"));
    }
    for (const char* const bad :
         {"cinc 8 layers=",
          "cinc 8 layers=,",
          "cinc 8 layers=3,",
          "cinc 8 layers=3,,1",
          "cinc 8 layers=3 ",
          "cinc 8 layers=3 x",
          "cinc 8 layers=-3",
          "cinc 8 layers=3.5",
          "cinc 8 3,2"}) {
        EXPECT_FALSE(parse_record(bad)) << bad;
    }
}

TEST(CommitLog, KnowsTheSplitOfEachStep) {
    const std::vector<std::uint32_t> first{3, 3};
    const std::vector<std::uint32_t> second{4, 2};
    RunHistory history;
    history.apply(CincRecord{1, {}});
    EXPECT_TRUE(history.splits.empty()) << "not known";
    history.apply(CincRecord{2, first});
    history.apply(commit(0, 1));
    history.apply(commit(1, 1));
    history.apply(CincRecord{3, first});
    ASSERT_EQ(history.splits.size(), 1U);
    history.apply(RollbackRecord{{3, 1}});
    history.apply(CincRecord{4, second});
    ASSERT_EQ(history.splits.size(), 2U);
    EXPECT_EQ(history.splits[0].step, 0U);
    EXPECT_EQ(history.splits[1].step, 1U);
    EXPECT_EQ(history.splits[1].layers_per_stage, second);
    history.apply(RollbackRecord{{4, 0}});  // the latest choice stays
    ASSERT_EQ(history.splits.size(), 1U);
    EXPECT_EQ(history.splits[0].step, 0U);
    EXPECT_EQ(history.splits[0].layers_per_stage, second);
}

TEST(CommitLog, ASkipHasNoRoomForCodecs) {
    CommitRecord skip = skip_of({2, 6}, make_epoch(3, 11));
    skip.codecs = {protocol::CodecId::Int4, protocol::CodecId::Int8};
    EXPECT_DEATH(std::ignore = to_line(skip), "record.codecs.empty");
}

TEST(CommitLog, ReadsBackASkip) {
    const std::string line = to_line(skip_of({2, 6}, make_epoch(3, 11)));
    EXPECT_TRUE(line.starts_with("skip 2 6 ")) << line;
    const auto record = parse_record(line);
    ASSERT_TRUE(record);
    const auto& back = std::get<CommitRecord>(*record);
    EXPECT_TRUE(back.skips());
    EXPECT_EQ(back.version, (ParameterVersion{2, 6}));
    EXPECT_EQ(back.epoch, make_epoch(3, 11));
    EXPECT_TRUE(back.result_hashes.empty());
}

TEST(CommitLog, ReadsBackALossThatIsNoNumber) {
    const std::string line = to_line(commit(5, std::numeric_limits<double>::quiet_NaN()));
    EXPECT_EQ(reread(line), line);
}

TEST(CommitLog, WritesLinesWithoutLineBreaks) {
    for (const LogRecord& record : one_of_each()) {
        EXPECT_EQ(to_line(record).find_first_of("\r\n"), std::string::npos);
    }
}

TEST(CommitLog, NeverTakesATruncatedStateOrCommitForAWholeOne) {
    const std::string state = to_line(one_of_each()[3]);
    for (std::size_t size = 0; size < state.size(); ++size) {
        EXPECT_FALSE(parse_record(state.substr(0, size))) << size;
    }
    CommitRecord single_stage = commit(5, 2.25);
    single_stage.result_hashes.resize(1);
    const std::string line = to_line(single_stage);
    for (std::size_t size = 0; size < line.size(); ++size) {
        EXPECT_FALSE(parse_record(line.substr(0, size))) << line.substr(0, size);
    }
}

TEST(CommitLog, AcceptsNoSpaceTooMany) {
    for (const LogRecord& record : one_of_each()) {
        const std::string line = to_line(record);
        EXPECT_FALSE(parse_record(line + ' ')) << line;
        EXPECT_FALSE(parse_record(' ' + line)) << line;
        std::string doubled = line;
        doubled.insert(line.find(' '), 1, ' ');
        EXPECT_FALSE(parse_record(doubled)) << line;
    }
}

TEST(CommitLog, RefusesUnknownRecords) {
    for (const char* const line :
         {"",
          " ",
          "cinc",
          "cinc -1",
          "cinc 4294967296",
          "cinc 1 2",
          "cinc 0x10",
          "cinc one",
          "skip 1 2",
          "skip 1 2 3 4",
          "Cinc 1",
          "rollback 1",
          "rollback 1 2 3",
          "checkpoint 1 2",
          "checkpoint 1 2 two words",
          "state 1 2 3 short",
          "commit 0 0 1 1 1 1 1 1"}) {
        EXPECT_FALSE(parse_record(line)) << line;
    }
}

TEST(CommitLog, RefusesAHashWithALetterThatIsNoDigit) {
    std::string line = to_line(one_of_each()[3]);
    line.back() = 'g';
    EXPECT_FALSE(parse_record(line));
}

TEST(CommitLog, NamesAnUnreadableRecordInOneShortLine) {
    const auto record = parse_record(std::string(5000, 'x'));
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, ErrorCode::Malformed);
    EXPECT_EQ(record.error().reaction, Reaction::Fatal);
    EXPECT_LT(record.error().detail.size(), 250U);
}

TEST(RunHistory, CountsSkipsInARowAndKeepsNoLossOfThem) {
    RunHistory history;
    history.apply(commit(0, 4));
    history.apply(skip_of({2, 1}, make_epoch(1, 2)));
    history.apply(skip_of({2, 2}, make_epoch(1, 1)));
    EXPECT_EQ(history.skips_in_a_row, 2U);
    EXPECT_EQ(history.version, (ParameterVersion{2, 3}));
    EXPECT_TRUE(history.last_commit->skips());
    EXPECT_EQ(history.losses.size(), 1U);
    history.apply(commit(3, 3));
    EXPECT_EQ(history.skips_in_a_row, 0U);
    history.apply(skip_of({2, 4}, make_epoch(1, 1)));
    history.apply(RollbackRecord{{3, 4}});
    EXPECT_EQ(history.skips_in_a_row, 0U);
}

TEST(RunHistory, IsTheStateAfterEveryPrefixOfTheLog) {
    const std::vector<LogRecord> records{
        CincRecord{1}, commit(0, 4), commit(1, 3), CheckpointRecord{{2, 2}, "two"}, commit(2, 2)};
    std::vector<std::string> lines;
    const std::vector<ParameterVersion> versions{{0, 0}, {0, 0}, {2, 1}, {2, 2}, {2, 2}, {2, 3}};
    for (std::size_t kept = 0; kept <= records.size(); ++kept) {
        const auto history = replay_log(lines);
        ASSERT_TRUE(history);
        EXPECT_EQ(history->version, versions[kept]);
        EXPECT_EQ(history->cinc, kept > 0 ? 1U : 0U);
        EXPECT_EQ(history->checkpoint.has_value(), kept > 3);
        EXPECT_EQ(history->losses.size(), history->version.step);
        if (kept < records.size()) {
            lines.push_back(to_line(records[kept]));
        }
    }
}

TEST(RunHistory, ForgetsTheLossesOfStepsThatWereRolledBack) {
    RunHistory history;
    for (const LogRecord& record : std::vector<LogRecord>{
             commit(0, 4), commit(1, 3), commit(2, 2), RollbackRecord{{3, 1}}, commit(1, 2.5)}) {
        history.apply(record);
    }
    EXPECT_EQ(history.losses, (std::vector<std::pair<std::uint64_t, double>>{{0, 4}, {1, 2.5}}));
}

TEST(RunHistory, HasNoLastCommitAfterARollback) {
    RunHistory history;
    history.apply(commit(0, 4));
    history.apply(RollbackRecord{{3, 0}});
    EXPECT_FALSE(history.last_commit);
    EXPECT_EQ(history.version, (ParameterVersion{3, 0}));
}

TEST(RunHistory, KnowsTheStateOfEachStageAndVersion) {
    RunHistory history;
    history.apply(StateRecord{{0, 1}, {0}, digest_beginning(1)});
    history.apply(StateRecord{{0, 1}, {1}, digest_beginning(2)});
    EXPECT_EQ((history.states.at({{0, 1}, {1}})), digest_beginning(2));
    EXPECT_FALSE((history.states.contains({{0, 2}, {0}})));
}

TEST(RunHistory, IsAnErrorWhenAnyLineIsMalformed) {
    EXPECT_FALSE(replay_log({"cinc 1", "garbage", "cinc 2"}));
}

}  // namespace
}  // namespace swarm::coordinator
