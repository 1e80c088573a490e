// The task `facts`: the right ending states something that nearly everybody knows. The four items
// of a group swap their endings, so that each ending is right once.
#pragma once

#include "swarm/cli/eval/tasks.hpp"

namespace swarm::cli {

inline constexpr std::size_t kFactsGroup = 4;

inline constexpr TaskItem kFactsItems[] = {
    {"The capital of France is", " Paris"},
    {"The capital of Italy is", " Rome"},
    {"The capital of Japan is", " Tokyo"},
    {"The capital of Egypt is", " Cairo"},

    {"The capital of Germany is", " Berlin"},
    {"The capital of Spain is", " Madrid"},
    {"The capital of Russia is", " Moscow"},
    {"The capital of Greece is", " Athens"},

    {"A young dog is called a", " puppy"},
    {"A young cat is called a", " kitten"},
    {"A young cow is called a", " calf"},
    {"A young sheep is called a", " lamb"},

    {"The color of fresh snow is", " white"},
    {"The color of grass is", " green"},
    {"The color of a clear sky at noon is", " blue"},
    {"The color of blood is", " red"},

    {"The opposite of hot is", " cold"},
    {"The opposite of big is", " small"},
    {"The opposite of day is", " night"},
    {"The opposite of up is", " down"},

    {"The body of a bird is covered with", " feathers"},
    {"The body of a fish is covered with", " scales"},
    {"The body of a sheep is covered with", " wool"},
    {"The body of a turtle is covered with a", " shell"},

    {"Bees make", " honey"},
    {"Hens lay", " eggs"},
    {"Cows give us", " milk"},
    {"Spiders spin", " webs"},

    {"The number of days in a week is", " seven"},
    {"The number of months in a year is", " twelve"},
    {"The number of minutes in an hour is", " sixty"},
    {"The number of years in a century is", " one hundred"},

    {"You can borrow books from the", " library"},
    {"You can buy fresh bread at the", " bakery"},
    {"Doctors and nurses treat sick people in the", " hospital"},
    {"The passengers waited for their train at the", " station"},

    {"Ice is frozen", " water"},
    {"The gas in the air that people need to breathe is", " oxygen"},
    {"A magnet attracts the metal called", " iron"},
    {"Diamonds are made of", " carbon"},

    {"The Earth moves around the", " Sun"},
    {"The planet that is called the Red Planet is", " Mars"},
    {"The tides of the sea are caused by the", " Moon"},
    {"The largest planet of all is", " Jupiter"},

    {"The play Hamlet was written by", " Shakespeare"},
    {"The theory of relativity was found by", " Einstein"},
    {"The law of gravity was found by", " Newton"},
    {"The theory of evolution by natural selection was found by", " Darwin"},
};

}  // namespace swarm::cli
