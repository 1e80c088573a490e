// The task `copy`: a pattern comes three times, and the right ending goes on with it. The two items
// of a group have the same words but one, and each ending is right for one of them.
#pragma once

#include "swarm/cli/eval/tasks.hpp"

namespace swarm::cli {

inline constexpr std::size_t kCopyGroup = 2;

inline constexpr TaskItem kCopyItems[] = {
    {"red blue red blue red blue red", " blue"},
    {"red green red green red green red", " green"},

    {"dog cat dog cat dog cat dog", " cat"},
    {"dog bird dog bird dog bird dog", " bird"},

    {"one two one two one two one", " two"},
    {"one six one six one six one", " six"},

    {"7 3 9 7 3 9 7 3 9 7 3", " 9"},
    {"7 3 5 7 3 5 7 3 5 7 3", " 5"},

    {"Anna met Tom. Anna met Tom. Anna met Tom. Anna met", " Tom"},
    {"Anna met Paul. Anna met Paul. Anna met Paul. Anna met", " Paul"},

    {"bread, milk, salt, bread, milk, salt, bread, milk,", " salt"},
    {"bread, milk, eggs, bread, milk, eggs, bread, milk,", " eggs"},

    {"north east south north east south north east", " south"},
    {"north east west north east west north east", " west"},

    {"The fox ran. The hen slept. The fox ran. The hen slept. The fox ran. The hen", " slept"},
    {"The fox ran. The hen sang. The fox ran. The hen sang. The fox ran. The hen", " sang"},

    {"iron gold tin iron gold tin iron gold", " tin"},
    {"iron gold lead iron gold lead iron gold", " lead"},

    {"left left right left left right left left", " right"},
    {"left left up left left up left left", " up"},

    {"A is 4. B is 8. A is 4. B is 8. A is 4. B is", " 8"},
    {"A is 4. B is 2. A is 4. B is 2. A is 4. B is", " 2"},

    {"spoon fork knife spoon fork knife spoon fork", " knife"},
    {"spoon fork plate spoon fork plate spoon fork", " plate"},

    {"She took the train home. She took the train home. She took the", " train"},
    {"She took the boat home. She took the boat home. She took the", " boat"},

    {"apple: fruit. oak: tree. apple: fruit. oak: tree. apple: fruit. oak:", " tree"},
    {"apple: fruit. oak: wood. apple: fruit. oak: wood. apple: fruit. oak:", " wood"},

    {"sun moon star sun moon star sun moon", " star"},
    {"sun moon rain sun moon rain sun moon", " rain"},

    {"open close wait open close wait open close", " wait"},
    {"open close lock open close lock open close", " lock"},

    {"Lisa: yes. Mark: no. Lisa: yes. Mark: no. Lisa: yes. Mark:", " no"},
    {"Lisa: yes. Mark: maybe. Lisa: yes. Mark: maybe. Lisa: yes. Mark:", " maybe"},

    {"drum flute harp drum flute harp drum flute", " harp"},
    {"drum flute horn drum flute horn drum flute", " horn"},

    {"10 20 60 10 20 60 10 20 60 10 20", " 60"},
    {"10 20 40 10 20 40 10 20 40 10 20", " 40"},

    {"The box is empty. The bag is full. The box is empty. The bag is", " full"},
    {"The box is empty. The bag is new. The box is empty. The bag is", " new"},

    {"rose lily fern rose lily fern rose lily", " fern"},
    {"rose lily moss rose lily moss rose lily", " moss"},

    {"walk, run, jump; walk, run, jump; walk, run,", " jump"},
    {"walk, run, swim; walk, run, swim; walk, run,", " swim"},

    {"Monday: soup. Friday: fish. Monday: soup. Friday: fish. Monday: soup. Friday:", " fish"},
    {"Monday: soup. Friday: rice. Monday: soup. Friday: rice. Monday: soup. Friday:", " rice"},

    {"x x y x x y x x", " y"},
    {"x x z x x z x x", " z"},
};

}  // namespace swarm::cli
