// Every kernel of these tests: compiled once for each backend.
#include "tests/device/test_kernels.hpp"

ONEBIT_FOR_EACH(onebit::tests::MathKernel);
ONEBIT_FOR_EACH(onebit::tests::RandomKernel);
ONEBIT_FOR_EACH(onebit::tests::MultiplyKernel);
ONEBIT_FOR_EACH(onebit::tests::VisitKernel);
ONEBIT_FOR_EACH_ITEM(onebit::tests::LanesKernel);
ONEBIT_FOR_EACH_ITEM(onebit::tests::VisitKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::tests::LanesKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::tests::PiecesKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::tests::RunsKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::tests::SelectKernel);
ONEBIT_FOR_EACH_ROW(onebit::tests::CoordinateKernel);
ONEBIT_SUM_COLUMNS(onebit::tests::ColumnSumsKernel);
ONEBIT_REDUCE(onebit::tests::BoundValueTerm);
ONEBIT_REDUCE(onebit::tests::CountTerm);
ONEBIT_REDUCE(onebit::tests::ValueTerm);
ONEBIT_PACK_BITS(onebit::tests::SignBitKernel);
ONEBIT_FOR_EACH_SIGN_MEAN(onebit::tests::StoreKernel);
ONEBIT_REDUCE_SIGN_MEAN(onebit::tests::StoreTerm);
ONEBIT_REDUCE_SIGNS(onebit::tests::TakeTerm);
