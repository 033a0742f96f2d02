// Accounts in C++: a transfer claims two accounts and throws if it is refused.
#include <cstdio>
#include <lanepool/lanepool.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using lanepool::exclusive, lanepool::shared;

class bank {
public:
    // Moves money. The future returns the balance that is left.
    lanepool::future<long> transfer(int from, int to, long amount) {
        return pool_.submit({ exclusive(from), exclusive(to) }, [this, from, to, amount] {
            if (balance_[from] < amount)
                throw std::runtime_error("not enough money on account " + std::to_string(from));
            balance_[to] += amount;
            return balance_[from] -= amount;
        });
    }
    // Adds all balances up, after all earlier transfers and before all later ones.
    lanepool::future<long> total() {
        return pool_.submit({ shared(0), shared(1), shared(2) },
                            [this] { return balance_[0] + balance_[1] + balance_[2]; });
    }

private:
    long balance_[3] = { 100, 100, 100 }; // only tasks that claim the account touch it
    lanepool::pool pool_{ 2 };            // ends first
};

int main() {
    bank bank;
    std::vector<lanepool::future<long>> transfers;
    transfers.push_back(bank.transfer(0, 1, 70));
    transfers.push_back(bank.transfer(0, 2, 70));
    transfers.push_back(bank.transfer(1, 0, 50));
    for (auto &transfer : transfers) {
        try {
            std::printf("left: %ld\n", transfer.get());
        } catch (const std::runtime_error &refused) {
            std::printf("refused: %s\n", refused.what());
        }
    }
    std::printf("total: %ld\n", bank.total().get());
}
