// The parts of a sweep, without starting a run: axes, points, names, definitions, the tuner, the index.

#include <cmath>

#include "device/base/error.hpp"
#include "experiments/sweep/folder.hpp"
#include "experiments/sweep/index.hpp"
#include "experiments/sweep/lock.hpp"
#include "experiments/sweep/output.hpp"
#include "experiments/sweep/shard.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

using Texts = std::vector<std::string>;

/// Returns the message of the ConfigError that `action` throws; empty if it throws none.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

SweepDefinition definition(const Texts& arguments) {
  return definition_of(sweep_options(arguments));
}

std::vector<Point> points(
    const Texts& arguments, const LossOfPoint& loss = [](const auto&) { return std::nullopt; }) {
  return points_of({definition(arguments)}, {{"threads", "1"}}, loss);
}

Texts labels(const std::vector<Point>& points) {
  Texts result;
  for (const Point& point : points) result.push_back(label_of(point));
  return result;
}

std::string name_with(const Settings& settings) {
  return name_of(values_of(make_config(settings)));
}

PointResult done(double loss) {
  PointResult result;
  result.status = PointStatus::done;
  result.steps = 6;
  result.train_loss = 2 * loss;
  result.eval_loss = loss;
  result.bytes = 100;
  result.wall_seconds = 0.5;
  return result;
}

/// Returns a loss whose minimum is at 0.003, on a logarithmic scale.
double bowl(const std::string& value) {
  return std::pow(std::log(std::stod(value) / 0.003), 2);
}

}  // namespace

TEST_CASE("sweep: an axis is a list of values or a range") {
  CHECK(parse_axis("optimizer.lr=1e-3,0.01,.1").values == Texts{"0.001", "0.01", "0.1"});
  CHECK(parse_axis("optimizer.lr=1e-4:1e-1:log:4").values == Texts{"1e-04", "0.001", "0.01", "0.1"});
  CHECK(parse_axis("optimizer.lr=1:2:log:3").values == Texts{"1", "1.41421", "2"});
  CHECK(parse_axis("workers=1:64:log:7").values == Texts{"1", "2", "4", "8", "16", "32", "64"});
  CHECK(parse_axis("optimizer.lr=1e-3:1e-1:round:5").values == Texts{"0.001", "0.003", "0.01", "0.03", "0.1"});
  CHECK(parse_axis("optimizer.lr=0.1:1:round:4").values == Texts{"0.1", "0.2", "0.5", "1"});
  CHECK(parse_axis("optimizer.lr=0.1:1:round:10").values ==
        Texts{"0.1", "0.13", "0.17", "0.22", "0.28", "0.36", "0.46", "0.6", "0.77", "1"});
  CHECK(parse_axis("optimizer.lr=0.00123:1:round:2").values == Texts{"0.00123", "1"});
  CHECK(parse_axis("steps=100000:300000:lin:3").values == Texts{"100000", "200000", "300000"});
  CHECK(parse_axis("freeze=fixed:10,fraction:0.5").values == Texts{"fixed:10", "fraction:0.5"});
  CHECK(parse_axis("model.layers=4,5,3;4,8,3").values == Texts{"4,5,3", "4,8,3"});
  CHECK(parse_axis("model.layers=4,5,3;").values == Texts{"4,5,3"});
  for (const std::string text : {"optimizer.lr=1e-4:1e-1:log:4", "model.layers=4,5,3;4,8,3", "model.layers=4,5,3;"}) {
    CHECK(parse_axis(axis_text(parse_axis(text))).values == parse_axis(text).values);
  }
}

TEST_CASE("sweep: short names of options stand for long ones") {
  CHECK(parse_axis("lr=0.1,0.2").key == "optimizer.lr");
  CHECK(parse_tuning("wd=1e-3:1e-1", 4).key == "optimizer.weight-decay");
  CHECK(parse_skip("lr=0.1,arm=x") == Settings{{"optimizer.lr", "0.1"}, {"arm", "x"}});
  const std::vector<Axis> axes = {parse_axis("lr=0.1,0.2"), parse_axis("batch=1,2")};
  CHECK(product(axes, {"lr,batch"}).size() == 2);
}

TEST_CASE("sweep: a bad axis is refused by name") {
  const auto axis = [](const std::string& text) { return refusal([&] { parse_axis(text); }); };
  CHECK_THAT(axis("optimizer.lr"), Contains("malformed axis"));
  CHECK_THAT(axis("optimizer.lr="), Contains("without values"));
  CHECK_THAT(axis("optimizer.lrr=1"), Contains("did you mean optimizer.lr"));
  CHECK_THAT(axis("optimizer.lr=1,x"), Contains("optimizer.lr 'x'"));
  CHECK_THAT(axis("optimizer.lr=1e-3,0.001"), Contains("twice"));
  CHECK_THAT(axis("optimizer.lr=0:1:log:3"), Contains("bad range"));
  CHECK_THAT(axis("optimizer.lr=0:1:round:3"), Contains("bad range"));
  CHECK_THAT(axis("optimizer.lr=1:2:log"), Contains("malformed range"));
  CHECK_THAT(axis("optimizer.lr=1:1:lin:3"), Contains("bad range"));
  CHECK_THAT(axis("optimizer.lr=1:2:lin:1"), Contains("bad range"));
  CHECK_THAT(axis("optimizer.lr=nan:2:lin:3"), Contains("finite"));
  CHECK_THAT(axis("workers=1:2:lin:3"), Contains("workers '1.5'"));
}

TEST_CASE("sweep: points are every combination, the first axis slowest, seeds fastest") {
  CHECK(labels(points({"--axis", "optimizer=adam,sgd", "--axis", "optimizer.lr=1,2", "--seeds", "2"})) ==
        Texts{"optimizer adam, optimizer.lr 1, seed 1", "optimizer adam, optimizer.lr 1, seed 2",
              "optimizer adam, optimizer.lr 2, seed 1", "optimizer adam, optimizer.lr 2, seed 2",
              "optimizer sgd, optimizer.lr 1, seed 1", "optimizer sgd, optimizer.lr 1, seed 2",
              "optimizer sgd, optimizer.lr 2, seed 1", "optimizer sgd, optimizer.lr 2, seed 2"});
  CHECK(labels(points({"--axis", "seed=5,7"})) == Texts{"seed 5", "seed 7"});
  CHECK(labels(points({"--model", "mlp", "--data", "synthetic", "--axis", "model.precision=fp32,bf16"})) ==
        Texts{"model.precision fp32, seed 1", "model.precision bf16, seed 1"});
  CHECK(labels(points({})) == Texts{"seed 1"});
  CHECK(labels(points({"--optimizers", "adam,sgd", "--seed", "9"})) == Texts{"arm adam, seed 9", "arm sgd, seed 9"});
}

TEST_CASE("sweep: a run carries the name of its arm, which does not decide the name of its point") {
  const std::vector<Point> named = points({"--arm", "small:optimizer=sgd"}), plain = points({"--optimizer", "sgd"});
  CHECK(named[0].config.label == "small");
  CHECK(plain[0].config.label.empty());
  CHECK(points({"--label", "all", "--arm", "small:optimizer=sgd"})[0].config.label == "small");
  CHECK(points({"--arm", "small:optimizer=sgd,label=own"})[0].config.label == "own");
  CHECK(named[0].name == plain[0].name);
}

TEST_CASE("sweep: zipped axes advance together") {
  CHECK(labels(points({"--axis", "workers=2,4", "--axis", "optimizer.lr=1,2", "--axis", "batch=8,4", "--zip",
                       "workers,batch"})) ==
        Texts{"workers 2, batch 8, optimizer.lr 1, seed 1", "workers 2, batch 8, optimizer.lr 2, seed 1",
              "workers 4, batch 4, optimizer.lr 1, seed 1", "workers 4, batch 4, optimizer.lr 2, seed 1"});
  const auto zip = [](const std::string& keys) {
    return refusal([&] { points({"--axis", "workers=2,4", "--axis", "batch=8,4,2", "--zip", keys}); });
  };
  CHECK_THAT(zip("workers,batch"), Contains("different lengths") && Contains("2 and 3 values"));
  CHECK_THAT(zip("workers,steps"), Contains("steps"));
  CHECK_THAT(zip("workers"), Contains("zip of one axis"));
  CHECK_THAT(zip("workers,workers"), Contains("twice"));
}

TEST_CASE("sweep: points where all of a skip holds are left out, before anything else is asked of them") {
  const Texts arguments = {"--axis", "optimizer=adam,ef-sgd", "--axis", "codec=sign,top-k", "--codec.k", "0.1"};
  CHECK(labels(points(joined(arguments, {"--skip", "optimizer=adam,codec=top-k"}))) ==
        Texts{"optimizer adam, codec sign, seed 1", "optimizer ef-sgd, codec sign, seed 1",
              "optimizer ef-sgd, codec top-k, seed 1"});
  // signSGD takes no codec at all, which is an error of points that are not skipped.
  const Texts fixed = {"--axis", "optimizer=signsgd,ef-sgd", "--axis", "codec=sign,top-k", "--codec.k", "0.1"};
  CHECK_THAT(refusal([&] { points(fixed); }), Contains("point optimizer signsgd, codec sign: "));
  CHECK(points(joined(fixed, {"--skip", "optimizer=signsgd"})).size() == 2);
  CHECK_THAT(refusal([&] {
               points(joined(arguments, {"--skip", "optimizer=adam,codec=qsgd"}));
             }),
             Contains("matches no point"));
  CHECK_THAT(refusal([&] {
               points(joined(arguments, {"--skip", "optimizer=adam", "--skip", "optimizer=ef-sgd"}));
             }),
             Contains("without points"));
  CHECK_THAT(refusal([&] { points(joined(arguments, {"--skip", "seed=1"})); }), Contains("not an axis"));
  CHECK(labels(points({"--optimizers", "adam,sgd", "--axis", "optimizer.lr=1,2", "--skip", "arm=sgd,optimizer.lr=1"}))
            .size() == 3);
}

TEST_CASE("sweep: a point that cannot be is named") {
  CHECK_THAT(refusal([] {
               points({"--axis", "data=idx,synthetic", "--data.classes", "3"});
             }),
             Contains("point data idx: ") && Contains("data.classes"));
  CHECK_THAT(refusal([] { points({"--axis", "threads=1,2"}); }), Contains("same run"));
  CHECK_THAT(refusal([] { points({"--axis", "workers=1,2", "--axis", "workers=3,4"}); }), Contains("two axes"));
  CHECK_THAT(refusal([] { points({"--axis", "seed=1,2", "--seeds", "2"}); }), Contains("seeds"));
  CHECK_THAT(refusal([] { points({"--seed", "4294967295", "--seeds", "2"}); }), Contains("largest seed"));
  CHECK_THAT(refusal([] { points({"--arm", "a:workers=2", "--axis", "workers=1,2"}); }), Contains("a: workers"));
  CHECK_THAT(refusal([] {
               points({"--axis", "steps=1:100000:lin:100000", "--axis", "workers=1,2"});
             }),
             Contains("too many points"));
}

TEST_CASE("sweep: a name says what a run computes, however it was asked for") {
  const Settings run = {{"optimizer", "adam"}, {"optimizer.lr", "1e-2"}, {"seed", "3"}};
  const std::string name = name_with(run);
  CHECK(name.size() == 16);
  CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(name_with({{"seed", "3"}, {"optimizer.lr", "0.01"}, {"optimizer", "adam"}}) == name);
  for (const Settings::value_type& same : Settings{{"threads", "3"},
                                                   {"memory", "1GB"},
                                                   {"worker-group", "2"},
                                                   {"log.flush", "7"},
                                                   {"devices", "cpu:2"},
                                                   {"batch", "16"}}) {
    CAPTURE(same.first);
    Settings settings = run;
    settings.push_back(same);
    CHECK(name_with(settings) == name);
  }
  for (const Settings::value_type& other : Settings{{"seed", "4"}, {"batch", "17"}, {"data.split", "label"}}) {
    CAPTURE(other.first);
    Settings settings = run;
    settings.push_back(other);
    CHECK(name_with(settings) != name);
  }
  CHECK(name_with({{"devices", "cuda:0"}}) == name_with({{"devices", "cuda:1"}}));
  CHECK(name_with({{"devices", "cuda:0"}}) != name_with({}));
}

TEST_CASE("sweep: the same points asked for by other axes have the same names") {
  const auto names = [](const Texts& arguments) {
    std::set<std::string> result;
    for (const Point& point : points(arguments)) result.insert(point.name);
    return result;
  };
  const auto expected = names({"--axis", "optimizer=adam,sgd", "--axis", "optimizer.lr=0.1,0.2", "--seeds", "2"});
  CHECK(expected.size() == 8);
  CHECK(names({"--axis", "optimizer.lr=2e-1,1e-1", "--axis", "seed=2,1", "--optimizers", "sgd,adam"}) == expected);
}

TEST_CASE("sweep: a definition is a file that reads back as itself") {
  const Folder folder;
  const Texts arguments = {"--model",        "mlp",
                           "--model.layers", "4,5,3",
                           "--threads",      "3",
                           "--axis",         "workers=2,4",
                           "--axis",         "batch=1,2",
                           "--zip",          "workers,batch",
                           "--skip",         "workers=4",
                           "--seeds",        "2",
                           "--optimizers",   "adam,sgd",
                           "--optimizer.lr", "1e-2",
                           "--tune",         "optimizer.eps=1e-8:1e-2",
                           "--tune-points",  "5"};
  const std::string text = text_of(definition(arguments));
  CHECK_THAT(text, !Contains("threads") && Contains("optimizer.lr = 0.01\n"));
  write_file(folder / "sweep.ini", text);
  CHECK(text_of(definition({"--config", folder / "sweep.ini"})) == text);
}

TEST_CASE("sweep: how points are run gives way to what an arm says") {
  const auto threads = [](const Texts& arguments) { return points(arguments).at(0).config.threads; };
  CHECK(threads({"--optimizer", "sgd", "--threads", "5"}) == 1);
  CHECK(threads({"--arm", "a:optimizer=sgd,threads=3"}) == 3);
}

TEST_CASE("sweep: values that a definition could not keep are refused") {
  for (const std::string value : {"a#b", " a", "a ", "a\nworkers = 3", "\t"}) {
    CAPTURE(value);
    CHECK_THAT(refusal([&] {
                 text_of(definition({"--data.path", value}));
               }),
               Contains("cannot hold this value (data.path '") && Contains("must not contain '#'"));
  }
  CHECK_THAT(refusal([] { points({"--arm", "a:data.path=b ,optimizer=adam"}); }), Contains("(data.path 'b ')"));
  CHECK_THAT(text_of(definition({"--data.path", "a b"})), Contains("data.path = a b\n"));
}

TEST_CASE("sweep: a folder with logs that are not of a sweep is refused") {
  const Folder folder;
  const auto begin = [&] { definitions_in(folder / "compared", definition({"--axis", "seed=1,2"}), false, false); };
  folder.write("compared/data.h5", "no log");
  CHECK_NOTHROW(begin());
  REQUIRE(run_onebit(folder, tiny_run("run", {"--steps", "1", "-o", "compared/adam-1.h5"})).status == 0);
  CHECK_THAT(refusal(begin), Contains("not belong to a sweep (" + (folder / "compared/adam-1.h5")) &&
                                 Contains("give an -o DIR other than "));
}

TEST_CASE("sweep: a folder keeps its definition, others only extend it") {
  const Folder folder;
  const SweepDefinition first = definition({"--axis", "optimizer.lr=0.1,0.2"});
  const SweepDefinition second = definition({"--axis", "optimizer.lr=0.2,0.3", "--batch", "4"});
  CHECK(definitions_in(folder.path(), first, false, false).size() == 1);
  CHECK(entries(folder).empty());
  CHECK(definitions_in(folder.path(), first, false, true).size() == 1);
  CHECK(definitions_in(folder.path(), first, false, true).size() == 1);
  CHECK_THAT(refusal([&] { definitions_in(folder.path(), second, false, true); }),
             Contains("another sweep: it has 'axis = optimizer.lr=0.1,0.2' instead of 'axis = optimizer.lr=0.2,0.3'") &&
                 Contains("--extend"));
  CHECK(definitions_in(folder.path(), second, true, true).size() == 2);
  CHECK(definitions_in(folder.path(), first, false, true).size() == 2);  // either definition resumes both
  CHECK(definitions_in(folder.path(), second, true, true).size() == 2);
  // Common options that differ between the definitions distinguish the points too.
  const auto never = [](const auto&) { return std::nullopt; };
  CHECK(varied_keys(points_of({first, second}, {}, never)) == Texts{"optimizer.lr", "batch"});
  CHECK(varied_keys(points_of({first}, {}, never)) == Texts{"optimizer.lr"});
  const auto both =
      points_of({definition({"--axis", "optimizer.lr=0.1,0.2"}), definition({"--axis", "optimizer.lr=0.2,0.3"})}, {},
                [](const auto&) { return std::nullopt; });
  CHECK(labels(both) == Texts{"optimizer.lr 0.1, seed 1", "optimizer.lr 0.2, seed 1", "optimizer.lr 0.3, seed 1"});
}

TEST_CASE("sweep: shards are i/n, or Slurm's") {
  const Variable task("SLURM_PROCID", "2"), tasks("SLURM_NTASKS", "3");
  CHECK(parse_shard("").text() == "2/3");
  CHECK(parse_shard("").of_slurm);
  CHECK(parse_shard("1/4").text() == "1/4");
  CHECK(parse_shard("1/4").owns(5));
  CHECK_FALSE(parse_shard("1/4").owns(4));
  for (const std::string bad : {"4/4", "-1/4", "1", "1/0", "a/b"}) {
    CHECK_FALSE(refusal([&] { parse_shard(bad); }).empty());
  }
}

TEST_CASE("sweep: golden section closes in on the smallest loss") {
  const Tuning tuning = parse_tuning("optimizer.lr=1e-4:1e-1", 12);
  const Texts tried = tuned_values(tuning, [](const std::string& value) { return std::optional(bowl(value)); });
  REQUIRE(tried.size() == 12);
  const auto better = [](const std::string& a, const std::string& b) { return bowl(a) < bowl(b); };
  const double best = std::stod(*std::min_element(tried.begin(), tried.end(), better));
  CHECK(best == Approx(0.003).epsilon(0.05));
  CHECK(std::set<std::string>(tried.begin(), tried.end()).size() == 12);
  CHECK_THAT(refusal([] { parse_tuning("optimizer.lr=0:1", 8); }), Contains("bad range"));
  CHECK_THAT(refusal([] { parse_tuning("optimizer.lr", 8); }), Contains("malformed tune"));
  const Folder folder;
  write_file(folder / "a.ini", "tune = optimizer.lr=1e-4:1\n");
  write_file(folder / "b.ini", "tune = optimizer.eps=1e-8:1e-2\n");
  CHECK(definition({"--config", folder / "a.ini", "--config", folder / "b.ini"}).tuning->key == "optimizer.eps");
  CHECK_THAT(refusal([] { parse_tuning("optimizer.lrr=1:2", 8); }), Contains("optimizer.lr"));
}

TEST_CASE("sweep: what a tuner asks for next follows from the losses that are known") {
  const Tuning tuning = parse_tuning("optimizer.lr=1e-4:1e-1", 8);
  std::map<std::string, double> known;
  const auto loss = [&](const std::string& value) {
    const auto found = known.find(value);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  const Texts all = tuned_values(tuning, [](const std::string& value) { return std::optional(bowl(value)); });
  Texts asked = tuned_values(tuning, loss);
  REQUIRE(asked.size() == 2);
  known[asked[1]] = bowl(asked[1]);
  CHECK(tuned_values(tuning, loss) == asked);  // the choice needs both of the first two losses
  while (asked.size() < 8) {
    for (const std::string& value : asked) known[value] = bowl(value);
    const Texts next = tuned_values(tuning, loss);
    REQUIRE(next.size() == asked.size() + 1);
    asked = next;
  }
  CHECK(asked == all);
  // If everything diverged, it goes down, where learning rates diverge last.
  const Texts low =
      tuned_values(tuning, [](const auto&) { return std::optional(std::numeric_limits<double>::infinity()); });
  CHECK(std::stod(low.back()) < 2e-4);
}

TEST_CASE("sweep: an arm is tuned by the mean over its seeds, and a grid says when its range is too narrow") {
  const Texts arguments = {"--optimizers",  "adam,sgd", "--tune",  "optimizer.lr=1e-4:1e-1",
                           "--tune-points", "6",        "--seeds", "2"};
  std::map<std::string, double> losses;
  const LossOfPoint loss = [&](const std::string& name) {
    const auto found = losses.find(name);
    return found == losses.end() ? std::nullopt : std::optional(found->second);
  };
  std::size_t rounds = 0, before = 0;
  std::vector<Point> all = points(arguments, loss);
  CHECK(all.size() == 8);  // two arms, two values, two seeds
  for (; all.size() != before; ++rounds) {
    before = all.size();
    for (const Point& point : all) {
      const double lr = point.config.optimizer.lr;
      const double of_arm = point.arm == "adam" ? bowl(std::to_string(lr)) : -lr;
      losses[point.name] = of_arm + (point.config.seed == 1 ? 1 : -1);
    }
    all = points(arguments, loss);
  }
  CHECK(rounds == 5);
  CHECK(all.size() == 24);
  CHECK(all.front().unit == 0);
  CHECK(all.back().unit == 1);
  const std::vector<Grid> grids = grids_of(tuned_arms({definition(arguments)}, loss), loss);
  REQUIRE(grids.size() == 2);
  CHECK(grids[0].label == "arm adam");
  CHECK(grids[0].rows.size() == 6);
  CHECK(grids[0].complete);
  CHECK_FALSE(grids[0].at_edge);
  CHECK(std::stod(grids[0].rows[grids[0].best].value) == Approx(0.003).epsilon(0.3));
  CHECK(grids[0].rows[grids[0].best].loss == Approx(bowl(grids[0].rows[grids[0].best].value)).margin(1e-4));
  CHECK(grids[1].at_edge);
}

TEST_CASE("sweep: the index of models with a boundary has AUC and what crosses") {
  PointResult result = done(0.25);
  result.auc = 0.75;
  result.boundary_gradient_cosine = 0.5;
  const std::string csv = index_csv(points({"--axis", "workers=2", "--model", "dlrm-nano"}), {result});
  CHECK_THAT(csv, Contains(",bytes_per_worker,auc,boundary_loss,boundary_auc,boundary_sent_share,boundary_forward_kept,"
                           "boundary_backward_kept,boundary_gradient_cosine,wall_seconds\n"));
  CHECK_THAT(csv, Contains(",100,0.75,nan,nan,nan,nan,nan,0.5,0.5\n"));
}

TEST_CASE("sweep: the index has a row per point, times last, in text and in HDF5") {
  const Folder folder;
  const std::vector<Point> all =
      points({"--axis", "model.layers=4,5,3;4,6,3", "--model", "mlp", "--axis", "workers=2,4"});
  PointResult diverged;
  diverged.status = PointStatus::diverged;
  const std::string csv = index_csv(all, {done(0.25), diverged, PointResult(), done(0.5)});
  CHECK_THAT(csv, Contains("name,model.layers,workers,seed,status,last_step,train_loss,eval_loss,accuracy,"
                           "bytes_per_worker,wall_seconds\n" +
                           all[0].name + ",\"4,5,3\",2,1,done,6,0.5,0.25,nan,100,0.5\n" + all[1].name +
                           ",\"4,5,3\",4,1,diverged,0,nan,nan,nan,nan,nan\n"));
  Results results(folder.path());
  write_index(folder.path(), all, results);
  CHECK_THAT(read_file(folder / "index.csv"), Contains(all[3].name + ",\"4,6,3\",4,1,waiting,0,nan"));
  CHECK(entries(folder) == std::set<std::string>{folder / "index.csv", folder / "index.h5"});
  const Python python;
  ONEBIT_SKIP_UNLESS(python.available(), "h5py", "no python3 with h5py");
  CHECK(python.run("import h5py\n"
                   "f = h5py.File(sys.argv[1], 'r')\n"
                   "assert 'onebit-sweep-index' in str(f.attrs['format'])\n"
                   "assert list(f['workers'][:]) == [2, 4, 2, 4]\n"
                   "assert f['model.layers'][0].rstrip(b'\\0') == b'4,5,3'\n"
                   "assert f['status'][3].rstrip(b'\\0') == b'waiting'\n",
                   folder / "index.h5") == 0);
}

TEST_CASE("sweep: a lock keeps a second sweep out, which takes it over when the first is dead") {
  const Folder folder;
  {
    const FolderLock lock(folder.path(), "0/1");
    CHECK_THAT(refusal([&] { FolderLock(folder.path(), "0/1"); }),
               Contains("another sweep") && Contains(std::to_string(getpid())));
    const FolderLock other(folder.path(), "1/2");
  }
  CHECK(entries(folder).empty());
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  write_file(folder / "lock-0-1", std::string(host) + " 1 999999999999\n");  // process 1 began at another time
  { const FolderLock lock(folder.path(), "0/1"); }
  write_file(folder / "lock-0-1", "elsewhere 1 1\n");
  CHECK_THAT(refusal([&] { FolderLock(folder.path(), "0/1"); }), Contains("elsewhere"));
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(folder / "lock-0-1", long_ago);
  { const FolderLock lock(folder.path(), "0/1"); }
  CHECK(entries(folder).empty());
}

TEST_CASE("sweep: which devices of a backend is up to how points are run, an arm's own option is not") {
  const auto devices = [](const Texts& arguments, const std::string& now) {
    Texts values;
    for (const Point& point :
         points_of({definition(arguments)}, {{"devices", now}}, [](const auto&) { return std::nullopt; })) {
      values.push_back(point.config.device);
    }
    return values;
  };
  CHECK(devices({"--devices", "cuda:1"}, "cuda:1") == Texts{"cuda:1"});
  CHECK(devices({"--devices", "cuda:1"}, "cuda:0,1") == Texts{"cuda:0,1"});
  CHECK(devices({"--devices", "cuda", "--arm", "a:devices=cuda", "--arm", "b:optimizer=sgd"}, "cuda:1") ==
        Texts{"cuda", "cuda:1"});
  CHECK(devices({"--axis", "devices=cuda,cpu"}, "cuda:1") == Texts{"cuda", "cpu"});
  CHECK(devices({}, "cuda:1") == Texts{"cpu"});  // a folder's first sweep, extended by one on GPUs
  CHECK(devices({"--devices", "cpu:2"}, "cpu:2") == Texts{"cpu:2"});
  CHECK(devices({"--arm", "a:devices=cpu:2", "--arm", "b:optimizer=sgd"}, "cpu:3") == Texts{"cpu:2", "cpu:3"});
}

TEST_CASE("sweep points: a log is known by what was asked for, also where its evaluations were chosen") {
  const std::string open = name_with({{"steps", "40"}}), given = name_with({{"steps", "40"}, {"eval.examples", "80"}});
  const Settings chosen = {{"steps", "40"}, {"eval.every", "20"}, {"eval.examples", "80"}};
  CHECK(open != given);
  CHECK(is_named(values_of(make_config(chosen)), open));
  CHECK(is_named(values_of(make_config(chosen)), given));
  CHECK(!is_named(values_of(make_config(chosen)), name_with({{"steps", "41"}})));
  CHECK(!is_named(values_of(make_config(chosen)), name_with({{"steps", "40"}, {"eval.examples", "81"}})));
}
