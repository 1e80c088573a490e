// The task `agree`: the right ending makes an English sentence, and the wrong one breaks a rule of
// its grammar, mostly the agreement of subject and verb. The two items of a group swap their
// endings.
#pragma once

#include "swarm/cli/eval/tasks.hpp"

namespace swarm::cli {

inline constexpr std::size_t kAgreeGroup = 2;

inline constexpr TaskItem kAgreeItems[] = {
    {"The dog in the garden", " is barking at the postman."},
    {"The dogs in the garden", " are barking at the postman."},

    {"My sister", " was late for dinner yesterday."},
    {"My sisters", " were late for dinner yesterday."},

    {"The key to the old doors", " has been lost for years."},
    {"The keys to the old door", " have been lost for years."},

    {"He", " doesn't like cold weather."},
    {"They", " don't like cold weather."},

    {"The farmer", " grows corn and beans."},
    {"The farmers", " grow corn and beans."},

    {"Every morning she", " walks to the station."},
    {"Every morning we", " walk to the station."},

    {"The boy hurt", " himself when he fell."},
    {"The girl hurt", " herself when she fell."},

    {"I bought this", " book in a small shop."},
    {"I bought these", " books in a small shop."},

    {"There is", " a spider under the bed."},
    {"There are", " two spiders under the bed."},

    {"The picture of my parents", " hangs above the fireplace."},
    {"The pictures of my mother", " hang above the fireplace."},

    {"One of the windows", " is broken."},
    {"All of the windows", " are broken."},

    {"Yesterday they", " went to the market."},
    {"Tomorrow they will", " go to the market."},

    {"The teacher has", " written a letter to the parents."},
    {"The teacher will", " write a letter to the parents."},

    {"This house is bigger", " than ours."},
    {"This house is as big", " as ours."},

    {"The ship that carries the cars", " leaves at noon."},
    {"The ships that carry the car", " leave at noon."},

    {"She can", " swim very well."},
    {"She is", " swimming very well."},

    {"I have", " eaten all the cake."},
    {"I am", " eating all the cake."},

    {"We saw an", " old man at the bus stop."},
    {"We saw a", " young man at the bus stop."},

    {"The women cleaned the kitchen", " themselves."},
    {"The woman cleaned the kitchen", " herself."},

    {"There were too many", " cars on the road."},
    {"There was too much", " traffic on the road."},

    {"If I", " am late, I will call you."},
    {"If he", " is late, he will call you."},

    {"The children of our neighbour", " play outside every day."},
    {"The child of our neighbours", " plays outside every day."},

    {"Each of the players", " has a number."},
    {"Both of the players", " have a number."},

    {"The man introduced", " himself to the guests."},
    {"The men introduced", " themselves to the guests."},
};

}  // namespace swarm::cli
