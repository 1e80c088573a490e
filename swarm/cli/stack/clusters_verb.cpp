// `swarm stack clusters`.
#include "stacking/composition/clusters/balanced_clusters.hpp"
#include "stacking/composition/clusters/cluster_file.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/stack/clustered_documents.hpp"
#include "swarm/cli/stack/clusters.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::ClusterFile;
using stacking::composition::Clusters;
using stacking::composition::Term;
using stacking::composition::TermVector;
using stacking::composition::TfIdf;
using stacking::composition::WordCounter;

constexpr const char* kElsewhere = "choose another folder";
constexpr std::size_t kShownWords = 6;

/// Words and clusters of the documents, which two readings find.
struct Subjects {
    TfIdf words;
    Clusters clusters;
};

Result<Subjects> find_subjects(
    const ClusteredDocuments& documents, const StackClustersOptions& options
) {
    WordCounter counter;
    SWARM_TRY(documents.each([&](std::string_view document) -> Result<> {
        counter.add(document);
        return {};
    }));
    if (counter.documents() < options.clusters) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "these are " + std::to_string(counter.documents()) + " documents, fewer than " +
                std::to_string(options.clusters) + " groups; a text is cut at blank lines"};
    }
    Subjects found{counter.finish(), {}};
    std::vector<TermVector> vectors;
    SWARM_TRY(documents.each([&](std::string_view document) -> Result<> {
        vectors.push_back(found.words.vector_of(document));
        return {};
    }));
    found.clusters = stacking::composition::balanced_clusters(
        vectors, found.words.words().size(), options.clusters, options.seed
    );
    return found;
}

std::string file_name(std::size_t cluster, bool plain) {
    return "cluster-" + std::to_string(cluster + 1) + (plain ? ".txt" : ".jsonl");
}

/// The document as a part of the file of its group.
std::string written(std::string_view document, bool plain) {
    if (!plain) {
        return boost::json::serialize(boost::json::object{{"text", document}}) + "\n";
    }
    std::string text(document.substr(0, document.find_last_not_of(" \t\r\n") + 1));
    return text + "\n\n";
}

Result<> write_groups(
    const ClusteredDocuments& documents, const Clusters& clusters, const fs::path& folder
) {
    const bool plain = documents.are_plain();
    std::vector<DurableFile> files;
    for (std::size_t i = 0; i < clusters.centers.size(); ++i) {
        SWARM_TRY(
            DurableFile file,
            DurableFile::begin(
                folder / file_name(i, plain),
                DurableFile::Readers::All,
                DurableFile::IfThere::Replace,
                kElsewhere
            )
        );
        files.push_back(std::move(file));
    }
    std::size_t next = 0;
    SWARM_TRY(documents.each([&](std::string_view document) -> Result<> {
        if (next == clusters.cluster_of.size()) {
            return Error{
                ErrorCode::Mismatch, Reaction::Reject, "the documents were changed meanwhile"};
        }
        const std::string text = written(document, plain);
        return files[clusters.cluster_of[next++]].write(std::as_bytes(std::span(text)));
    }));
    for (DurableFile& file : files) {
        SWARM_TRY(file.finish());
    }
    return {};
}

/// The heaviest words of a center, for people.
std::string heaviest(const TermVector& center, const TfIdf& words) {
    TermVector terms = center;
    std::ranges::stable_sort(terms, std::ranges::greater{}, &Term::weight);
    std::string text;
    for (std::size_t i = 0; i < std::min(kShownWords, terms.size()); ++i) {
        text += (i > 0 ? " " : "") + words.words()[terms[i].word];
    }
    return text;
}

}  // namespace

Result<std::string> write_clusters(const StackClustersOptions& options) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(const auto documents, ClusteredDocuments::find(options.paths, options.field));
    SWARM_TRY(Subjects found, find_subjects(documents, options));
    SWARM_TRY(DurableFolder folder, DurableFolder::begin(options.folder, kElsewhere));
    SWARM_TRY(write_groups(documents, found.clusters, folder.draft()));
    const ClusterFile file{std::move(found.words), found.clusters.centers};
    const std::string json = to_json(file);
    SWARM_TRY(
        write_durably(folder.draft() / "clusters.json", std::as_bytes(std::span(json)), kElsewhere)
    );
    SWARM_TRY(folder.finish());
    std::string lines;
    for (std::size_t i = 0; i < file.centers.size(); ++i) {
        const fs::path name = fs::path(options.folder) / file_name(i, documents.are_plain());
        const auto count =
            std::ranges::count(found.clusters.cluster_of, static_cast<std::uint32_t>(i));
        lines += name.string() + ": " + std::to_string(count) +
                 " documents: " + heaviest(file.centers[i], file.words) + "\n";
    }
    return lines;
}

int cluster_documents(const StackClustersOptions& options) {
    Console console;
    const Result<std::string> done = write_clusters(options);
    if (!done) {
        return end_with(console, done.error());
    }
    std::cout << printable(*done);
    return kDone;
}

}  // namespace swarm::cli
