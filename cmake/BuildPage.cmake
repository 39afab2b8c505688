# cmake -DWEB=web -P BuildPage.cmake: builds web/app/dist with npm. Without npm it takes a page that was built elsewhere
# and put there, or says what is missing.
find_program(NPM npm)
if(NOT NPM AND EXISTS ${WEB}/app/dist/index.html)
    message(STATUS "npm is not here: the page in web/app/dist is taken as it is")
    return()
endif()
if(NOT NPM)
    message(FATAL_ERROR
        "npm is needed to build flamelet's page. On Debian: apt-get install nodejs npm (Node 20.19 or newer), or build the "
        "page elsewhere and put it into web/app/dist")
endif()
function(run)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WEB} RESULT_VARIABLE result OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    if(result)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command} failed in ${WEB}:\n${output}")
    endif()
endfunction()
if(NOT EXISTS ${WEB}/node_modules/.package-lock.json OR
   ${WEB}/package-lock.json IS_NEWER_THAN ${WEB}/node_modules/.package-lock.json)
    run(${NPM} ci --no-audit --no-fund)
endif()
run(${NPM} run build)
