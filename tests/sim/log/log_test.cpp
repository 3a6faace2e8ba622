// What is written is read back, by us and by h5py, and the file is as docs/log-format.md describes it.

#include <cmath>

#include "device/base/error.hpp"
#include "sim/log/h5.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

netmodel::TrafficList sample_traffic() {
  using namespace netmodel;
  return {{Collective::all_to_all, Direction::up, WireType::bits, 3, 2, 1 << 20, -1, false},
          {Collective::all_reduce, Direction::both, WireType::fp32, 3, 4, Index{1} << 40, 1, true}};
}

void write_sample(const std::string& path, bool probed = false) {
  LogHeader header = sample_header();
  header.probed = header.rounded = probed;
  LogWriter log(path, header, false);
  append_samples(log, 0, 20);
  log.append(WorkerRow{0, {1, 2, 3}, {not_applicable, 5, 6}});
  log.append(WorkerRow{10, {4, 5, 6}, {7, 8, 9}});
  const double none = not_applicable;
  log.append(TensorRow{
      10, {0.5, 0.25}, {1e-300, 1e300}, {2, 3}, {0.3, 10}, {4, 5}, {6, 7}, {none, 8}, {1, 2}, {3, 4}, {5, 6}, {9, 10}});
  if (probed) log.append(ProbeRow{.step = 10, .noise_square = 11, .moved_share = 12});
  log.flush();
  log.append(EvaluationRow{20, 640, 0.25, 0.9, 2000});
  log.append(Event{7, "freeze", "variance frozen"});
  log.append(7, sample_traffic());
  append_samples(log, 20, 25);
  log.close(RunStatus::finished);
}

std::string type_name(ColumnType type) {
  constexpr const char* names[] = {"float64",     "int64",       "uint8",       "text, 16 bytes", "text, 256 bytes",
                                   "enumeration", "enumeration", "enumeration", "compound"};
  return names[static_cast<std::size_t>(type)];
}

std::string shape_name(const Column& column) {
  constexpr const char* names[] = {"scalar", "rows", "rows x workers", "rows x tensors", "tensors", "member"};
  return names[static_cast<std::size_t>(column.shape)];
}

std::string doc_line(const Column& column) {
  const std::string name =
      column.shape == Shape::member ? "`.../" + std::string(column.name) + "`" : "`/" + path_of(column) + "`";
  return "| " + name + " | " + type_name(column.type) + " | " + shape_name(column) + " | " + std::string(column.units) +
         " | " + std::string(column.doc) + " |\n";
}

}  // namespace

TEST_CASE("log: everything comes back") {
  const Folder folder;
  write_sample(folder / "run.h5");
  const LogReader log(folder / "run.h5");

  CHECK(log.header() == sample_header());
  CHECK(log.status() == RunStatus::finished);
  CHECK(log.closed());
  CHECK(log.unknown_columns().empty());
  CHECK(log.committed_rows() == 25);
  CHECK(intact_samples(log) == 25);
  CHECK(log.steps()[11].phase == 1);
  CHECK(std::isnan(log.steps()[11].server_error_norm));
  CHECK(log.column("steps/masked")[13] == 6);
  CHECK(log.column("steps/bytes_down") == std::vector<double>(25, 0.5));

  REQUIRE(log.workers().size() == 2);
  CHECK(log.workers()[1].step == 10);
  CHECK(log.workers()[1].loss == std::vector<double>{4, 5, 6});
  CHECK(std::isnan(log.workers()[0].error_norm[0]));
  CHECK(log.column("workers/loss") == std::vector<double>{1, 2, 3, 4, 5, 6});
  REQUIRE(log.tensors().size() == 1);
  CHECK(log.tensors()[0].momentum_l2 == std::vector<double>{0.5, 0.25});
  CHECK(log.tensors()[0].variance_l1 == std::vector<double>{1e-300, 1e300});
  CHECK(log.tensors()[0].variance_l2 == std::vector<double>{2, 3});
  CHECK(log.tensors()[0].trust_ratio == std::vector<double>{0.3, 10});
  CHECK(log.tensors()[0].frozen_coefficient == std::vector<double>{4, 5});
  CHECK(log.tensors()[0].coefficient_factor == std::vector<double>{6, 7});
  CHECK(std::isnan(log.tensors()[0].scaling_coefficient[0]));
  CHECK(log.tensors()[0].scaling_coefficient[1] == 8);
  REQUIRE(log.evaluations().size() == 1);
  CHECK(log.evaluations()[0].samples == 640);
  CHECK(log.evaluations()[0].accuracy == 0.9);
  CHECK(log.events() == std::vector<Event>{{7, "freeze", "variance frozen"}});
  CHECK(log.traffic() == std::vector<StepTraffic>{{7, sample_traffic()[0]}, {7, sample_traffic()[1]}});
}

TEST_CASE("log: a table of tensors without rows is one of vectors") {
  const Folder folder;
  write_sample(folder / "run.h5");
  {
    const h5::Id file(H5Fopen((folder / "run.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const h5::Id text = h5::text_type(1);
    const h5::Id type(H5Tcreate(H5T_COMPOUND, 17), H5Tclose);
    H5Tinsert(type.get(), "name", 0, text.get());
    H5Tinsert(type.get(), "offset", 1, H5T_NATIVE_INT64);
    H5Tinsert(type.get(), "size", 9, H5T_NATIVE_INT64);
    REQUIRE(H5Ldelete(file.get(), "model/tensors", H5P_DEFAULT) >= 0);
    const hsize_t count = 1;
    const h5::Id space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const h5::Id table(
        H5Dcreate2(file.get(), "model/tensors", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    const std::string row("a\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 17);
    REQUIRE(H5Dwrite(table.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, row.data()) >= 0);
  }
  CHECK(LogReader(folder / "run.h5").header().tensors == std::vector<compress::Tensor>{{"a", 7}});
}

TEST_CASE("log: can be read in the process that writes it") {
  const Folder folder;
  LogWriter log(folder / "run.h5", sample_header(), false);
  append_samples(log, 0, 5);
  CHECK(LogReader(folder / "run.h5").committed_rows() == 0);
  log.flush();
  const LogReader reader(folder / "run.h5");
  CHECK(intact_samples(reader) == 5);
  CHECK(reader.status() == RunStatus::running);
  CHECK_FALSE(reader.closed());
}

TEST_CASE("log: rows are committed by themselves when there are many") {
  const Folder folder;
  LogWriter log(folder / "run.h5", sample_header(), false);
  append_samples(log, 0, 5000);
  CHECK(intact_samples(LogReader(folder / "run.h5")) == 4096);
}

TEST_CASE("log: long texts fit, events are cut between characters") {
  const Folder folder;
  LogHeader header = sample_header();
  header.command_line = std::string(200'000, 'c');
  header.tensors = {{std::string(1000, 't'), 1}};
  header.config.clear();
  for (char c = 'a'; c <= 'z'; ++c) header.config.emplace_back(std::string("option.") + c, std::string(70'000, c));
  {
    LogWriter log(folder / "run.h5", header, false);
    log.append(Event{1, std::string(15, 'k') + "\xc3\xa9", std::string(255, 'a') + "\xc3\xa9 and more"});
    log.append(Event{2, "", std::string(254, 'b') + "\xc3\xa9"});
    log.append(Event{3, "stop", ""});
    log.close(RunStatus::stopped);
  }
  const LogReader log(folder / "run.h5");
  CHECK((log.header() == header));
  CHECK(log.events()[0] == Event{1, std::string(15, 'k'), std::string(255, 'a')});
  CHECK(log.events()[1] == Event{2, "", std::string(254, 'b') + "\xc3\xa9"});
  CHECK(log.events()[2] == Event{3, "stop", ""});
}

TEST_CASE("log: no tensors, no rows per worker") {
  const Folder folder;
  LogHeader header = sample_header();
  header.tensors.clear();
  header.config.clear();
  header.per_worker = false;
  {
    LogWriter log(folder / "run.h5", header, false);
    log.append(TensorRow{.step = 3});
    CHECK_THROWS_AS(log.append(WorkerRow{0, {1, 2, 3}, {1, 2, 3}}), ConfigError);
    CHECK_THROWS_WITH(log.append(TensorRow{.step = 4, .variance_l1 = {1}}),
                      "log row has 1 values, the log has 0 (tensors/variance_l1)");
    log.close(RunStatus::finished);
    CHECK_THROWS_AS(log.append(StepRow{}), IoError);
    CHECK_THROWS_AS(log.flush(), IoError);
    CHECK_NOTHROW(log.close(RunStatus::failed));
  }
  const LogReader log(folder / "run.h5");
  CHECK(log.header() == header);
  CHECK(log.status() == RunStatus::finished);
  CHECK(log.committed_rows("workers") == 0);
  CHECK(log.workers().empty());
  REQUIRE(log.tensors().size() == 1);
  CHECK(log.tensors()[0].step == 3);
}

TEST_CASE("log: without close() the rows are kept and the status is failed") {
  const Folder folder;
  { append_samples(*std::make_unique<LogWriter>(folder / "run.h5", sample_header(), false), 0, 9); }
  CHECK(LogReader(folder / "run.h5").status() == RunStatus::failed);
  CHECK(intact_samples(LogReader(folder / "run.h5")) == 9);
}

TEST_CASE("log: 2000 steps make a small file") {
  const Folder folder;
  {
    LogWriter log(folder / "run.h5", sample_header(), false);
    for (Index step = 0; step < 2000; ++step) {
      log.append(sample_step(step));
      log.append(step, sample_traffic());
      if (step % 100 == 0) log.flush();
    }
    log.close(RunStatus::finished);
  }
  CHECK(std::filesystem::file_size(folder / "run.h5") < 1'000'000);
}

TEST_CASE("log: probes and their columns are in logs of probed runs alone") {
  const Folder folder;
  write_sample(folder / "probed.h5", true);
  write_sample(folder / "plain.h5");
  const LogReader probed(folder / "probed.h5"), plain(folder / "plain.h5");
  CHECK(probed.header().probed);
  REQUIRE(probed.probes().size() == 1);
  CHECK(probed.probes()[0].step == 10);
  CHECK(probed.probes()[0].noise_square == 11);
  CHECK(probed.probes()[0].moved_share == 12);
  CHECK(std::isnan(probed.probes()[0].rate_drift));
  CHECK(probed.tensors()[0].shadow_l1 == std::vector<double>{9, 10});
  CHECK_FALSE(plain.header().probed);
  CHECK(plain.committed_rows("probes") == 0);
  CHECK(plain.probes().empty());
  CHECK(std::isnan(plain.tensors()[0].shadow_l1[1]));
  LogWriter log(folder / "more.h5", sample_header(), false);
  CHECK_THROWS_WITH(log.append(ProbeRow{}), Contains("without rows of this kind"));
}

TEST_CASE("log: every dataset carries units and doc, and the docs list it") {
  const Folder folder;
  write_sample(folder / "run.h5", true);
  const h5::Object file = h5::open_file(folder / "run.h5", false);
  const std::string doc = read_file(docs_path("log-format.md"));
  std::string expected;
  for (const Column& column : log_columns()) {
    expected += doc_line(column);
    CHECK_THAT(doc, Contains(doc_line(column)));
    if (column.shape == Shape::member) continue;
    const h5::Object dataset = h5::open_dataset(file, path_of(column));
    CHECK(h5::text_attribute(dataset, "units") == column.units);
    CHECK(h5::text_attribute(dataset, "doc") == column.doc);
  }
  CHECK_THAT(doc, Contains(expected));
}

TEST_CASE("log: Python reads it") {
  const Python python;
  ONEBIT_SKIP_UNLESS(python.available(), "h5py", "no python3 with h5py");
  const Folder folder;
  write_sample(folder / "run.h5");
  const char* script = R"(
import h5py, numpy, onebit.logs
log = onebit.logs.Log(sys.argv[1])
assert log.status == 'finished' and log.header['host'] == 'h\u00f6st' and log.header['seed'] == 4294967295
assert log.config == {'optimizer': 'onebit-adam', 'optimizer.lr': '1e-3'}
assert len(log.steps) == 34 and (log.steps['loss'] == 1 / numpy.arange(1, 26)).all()
assert numpy.isnan(log.steps['server_error_norm']).all()
assert log.steps._group['variance_ratio'].attrs['lag'] == 10
assert log.workers['loss'].tolist() == [[1, 2, 3], [4, 5, 6]] and log.workers['step'].tolist() == [0, 10]
assert log.tensors['variance_l1'].tolist() == [[1e-300, 1e300]]
assert log.evaluations['bytes'].tolist() == [2000]
assert log.events['kind'].tolist() == ['freeze'] and log.events['text'].tolist() == ['variance frozen']
names = h5py.check_enum_dtype(log.traffic.dtype['collective'])
assert log.traffic['collective'][0] == names['all_to_all'] and log.traffic['payload_bytes'][1] == 1 << 40
assert log.file['model/tensors'][:].tolist() == [(b'fc1.weight', 0, 12, 3), (b'b', 12, 4, 1)]
assert 'finished, 25 steps' in log.summary() and 'step 7: freeze: variance frozen' in log.summary()
)";
  CHECK(python.run(script, folder / "run.h5") == 0);
}

TEST_CASE("log: the last reason is why a run ended, unless it was continued") {
  const Event freeze{3, "freeze", "text"}, stop{5, "stop", "stopped by a signal"}, resume{5, "resume", "from step 5"};
  CHECK(reason_of_end({}).empty());
  CHECK(reason_of_end({freeze}).empty());
  CHECK(reason_of_end({stop, freeze}) == stop.text);
  CHECK(reason_of_end({freeze, stop, resume, freeze}).empty());
  CHECK(reason_of_end({stop, resume, Event{6, "divergence", "nan"}}) == "nan");
}
