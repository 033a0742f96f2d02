#!/usr/bin/env python3
"""Checks tests/mutate with small samples: what the operators change, and how a mutant is judged."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import places
import results
import trial

SAMPLE = """\
/* load_acquire(&x) in a comment; if (this) is text. */
#define TWICE(x) (x < 1)
static bool start(struct pool *pool)
{
    lanepool_i_mutex_lock(&pool->lock);
    uint64_t seen = load_acquire(&pool->word);
    pool->started = true;
    if (seen < 7 && pool->name == NULL) {
        write_text(
            "a string; with if (x)", seen + 1);
        lanepool_i_mutex_unlock(&pool->lock);
        take_back(pool);
        return false;
    }
    if (PLANTED(LEAK))
        lanepool_i_memory_free(pool->name);
    store_release(&pool->word, 1);
    lanepool_i_sleepers_wake_one(pool, 0);
    lanepool_i_memory_free(pool->name);
    lanepool_i_mutex_unlock(&pool->lock);
    return true;
}
"""
EXPECTED = {
    (6, "weaker_order", "load_relaxed"), (17, "weaker_order", "store_relaxed"),
    (11, "no_unlock", ";"), (20, "no_unlock", ";"), (19, "leak", ";"), (18, "lost_wake_up", ";"),
    (9, "no_undo", ";\n"), (12, "no_undo", ";"), (5, "no_call", ";"), (17, "no_call", ";"),
    (7, "no_assignment", ";"), (8, "other_branch", "(!(seen < 7 && pool->name == NULL))"),
    (8, "off_by_one", "<="), (10, "off_by_one", ""), (8, "other_connective", "||"),
    (8, "other_connective", "!="),
}

SOURCE = """\
#include "sample.h"
bool is_below(unsigned value, unsigned limit)
{
    if (limit == 0)
        return false;
    return value < limit;
}
"""
TEST = """\
#include "sample.h"
int main(void)
{
    return is_below(1, 2) && !is_below(2, 2) ? 0 : 1;
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(sample LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_compile_options(-O2)
add_executable(sample_test src/sample.c src/sample_test.c)
"""


class Operators(unittest.TestCase):
    mutants = list(places.mutants_of("sample.c", SAMPLE))

    def test_each_applies_where_it_should_and_nowhere_else(self):
        found = {(mutant.line, mutant.operator, mutant.replacement) for mutant in self.mutants}
        self.assertEqual(found, EXPECTED)
        self.assertEqual({mutant.operator for mutant in self.mutants}, set(places.OPERATORS))

    def test_a_mutant_moves_no_line(self):
        for mutant in self.mutants:
            self.assertEqual(places.planted(mutant, SAMPLE).count("\n"), SAMPLE.count("\n"))

    def test_a_seed_draws_each_once_and_in_the_same_order(self):
        first, second, other = (list(places.draw(self.mutants, seed)) for seed in "112")
        self.assertEqual(first, second)
        self.assertEqual(sorted(first), sorted(self.mutants))
        self.assertNotEqual(first, other)


class Verdicts(unittest.TestCase):
    def test_are_read_again_for_the_same_seed_and_the_last_counts(self):
        one, two, *_ = places.mutants_of("sample.c", SAMPLE)
        survived, noticed = (trial.Outcome(trial.SURVIVED, None, 2.5),
                             trial.Outcome(trial.NOTICED, "unit", 1.0))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "results", "seed", {"sample.c": SAMPLE}
            results.Results(*place).add(one, survived)
            results.Results(*place).add(one, noticed)
            read = results.Results(*place)
            self.assertEqual((read.of(one), read.of(two)), (noticed, None))
            self.assertIsNone(results.Results(place[0], "other", place[2]).of(one))
            read.forget()
            self.assertIsNone(results.Results(*place).of(one))


class Judgement(unittest.TestCase):
    def test_of_a_small_project(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            (source / "src").mkdir(parents=True)
            (source / "CMakeLists.txt").write_text(PROJECT)
            (source / "src/sample.h").write_text(
                "#include <stdbool.h>\nbool is_below(unsigned value, unsigned limit);\n")
            (source / "src/sample.c").write_text(SOURCE)
            (source / "src/sample_test.c").write_text(TEST)
            rung = trial.Rung("sample", "sample_test", ["PROGRAM"], True)
            trying = trial.Trial(source, Path(folder) / "mutants", [rung])
            trying.measure(lambda line: None, {})
            kinds = {}
            for mutant in places.mutants_of("src/sample.c", SOURCE):
                kinds[mutant.line, mutant.replacement] = trying.try_mutant(mutant).kind
            self.assertEqual(
                kinds, {(4, "(!(limit == 0))"): trial.NOTICED, (6, "<="): trial.NOTICED})
            at = SOURCE.index("if (limit == 0)")
            same = places.Mutant("src/sample.c", 4, "other_branch", at + 4, at + 14, "limit == 0u")
            self.assertEqual(trying.try_mutant(same).kind, trial.EQUIVALENT)
            gap = places.Mutant("src/sample.c", 4, "off_by_one", at + 13, at + 14, "1")
            self.assertEqual(trying.try_mutant(gap).kind, trial.SURVIVED)
            failing_once = ["sh", "-c", "test -e marker || { touch marker; exit 1; }"]
            trying.ladder = [rung._replace(command=failing_once, repeats=False)]
            self.assertEqual(trying.try_mutant(gap).kind, trial.SURVIVED)
            broken = places.Mutant("src/sample.c", 4, "no_call", at + 4, at + 14, "")
            self.assertEqual(trying.try_mutant(broken).kind, trial.DOES_NOT_COMPILE)
            self.assertEqual((trying.tree / "src/sample.c").read_text(), SOURCE)


if __name__ == "__main__":
    unittest.main()
